"""Writes what is made from the models of the two resources and from the conflict rules: CRDs and two pages of docs."""
