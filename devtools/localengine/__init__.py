"""A small stand-in for the Spark operator, for machines and clusters that have none.

It keeps the two objects that Sluice looks at, the SparkApplication and the driver's Pod, through the states and transitions
of the real spark-operator. It is a tool of developers, demos and tests, and never a part of the operator.
"""
