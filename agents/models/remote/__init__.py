"""Models behind somebody's interface: any provider, any OpenAI-compatible server, one border.

What is sent and how it is carried differs; how a reply is read, retried, paid for and recorded is
the same for all. Importing this loads neither aiohttp nor litellm.
"""
