"""What runs in the sandbox's own processes: the standard library alone, never the rest of evener.

`bootstrap` of the parent puts this folder alone on the path, so that no line of evener, and none
of the data that ships with it, is within reach of the code that is run here.
"""
