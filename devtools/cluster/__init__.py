"""A real Kubernetes cluster of one node inside namespaces of its own, and the Spark image that runs on it, both for tests.

No Docker, no registry of images: the programs come compiled (devenv), the image from Debian's and Python's packages.
"""
