"""The environment behind ./dev: tools in a cache folder, a local Kubernetes and Redis, the test sections.

It runs before anything of ours is installed, so it uses the standard library alone.
"""
