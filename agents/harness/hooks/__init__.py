"""The typed table of hooks: interception, verification and retry, each a pure function of a state.

A hook never talks to a model or an environment: it returns an effect, and the loop carries it out.
"""
