"""The version, alone in a file so that reading it imports nothing."""

VERSION = "0.1.0"
