"""The student on a vLLM server in a process of its own, with adapters loaded while it runs."""
