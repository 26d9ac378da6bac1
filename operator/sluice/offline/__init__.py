"""The oracle without a cluster: manifests, facts and logs go in, answers come out as data. `cli` shows them to people,
`import sluice` hands them to programs; both say what the operator would."""
