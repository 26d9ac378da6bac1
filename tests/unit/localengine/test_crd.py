from localengine import crd


def test_the_crd_is_what_the_models_say_today() -> None:
    assert crd.FILE.read_text() == crd.rendered(), "stale: run `python -m localengine.crd`"


def test_spark_fields_are_structural_and_kubernetes_types_are_kept_as_they_come() -> None:
    [version] = crd.custom_resource_definition()["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]
    assert spec["required"] == ["driver", "executor", "mainApplicationFile", "sparkVersion", "type"]
    assert spec["properties"]["driver"]["properties"]["cores"] == {"type": "integer"}
    template = spec["properties"]["driver"]["properties"]["template"]
    assert template == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    assert version["subresources"] == {"status": {}}
