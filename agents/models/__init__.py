"""Every model behind one port: scripted, cached, local. Importing this loads no heavy library."""
