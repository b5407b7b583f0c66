"""The runner inside of the sandbox (`horae-agent`): reads the input, asks a mind, writes results, polls for more input.

It imports nothing of the host but the protocol, so that an image needs the package and the standard library only.
"""
