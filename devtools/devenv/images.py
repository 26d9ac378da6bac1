"""Builds our images with buildah on a Debian made here, and keeps each under a key made of all that goes into it.

The recipes are the Containerfiles that people build with, too. What is slow lies in layers that change only with a Containerfile
and its locks.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from devenv.buildah import buildah
from devenv.cache import Cache, key_of
from devenv.debian_image import ensure_debian
from devenv.processes import fetch, run
from devenv.progress import say, step
from devenv.project import ROOT

ARCHIVE = "image.tar"
KEPT_IMAGES = 3

_HOST_CERTIFICATES = Path("/etc/ssl/certs")
_MOUNTED_CERTIFICATES = "/hostcerts"


@dataclass(frozen=True)
class Recipe:
    """What an image is built from."""

    name: str
    containerfile: Path
    context: Path
    copied: tuple[str, ...]
    """What the Containerfile copies: files and folders of the context."""
    built_on: tuple[tuple[str, Recipe], ...] = ()
    """Build arguments, and the images whose names they are given. Without any, BASE is Debian."""
    chosen: tuple[tuple[str, str], ...] = ()
    """Build arguments that choose between variants; the others are as the Containerfile has them."""


def spark_image(name: str, version: str, **chosen: str) -> Recipe:
    """The Spark image in one version of Spark; without a choice of stores it has the drivers of all."""
    return Recipe(
        name,
        ROOT / "spark-images" / "Containerfile",
        ROOT / "spark-images",
        ("entrypoint.sh", "hadoop", "ivy.xml", "logstore", "runner", f"versions/{version}"),
        chosen=(("SPARK", version), *chosen.items()),
    )


SPARK = spark_image("spark", "4.2")
SPARK35 = spark_image("spark35", "3.5")
OPERATOR = Recipe(
    "operator",
    ROOT / "operator" / "Containerfile",
    ROOT,
    (
        "LICENSE",
        "NOTICE",
        "README.md",
        "devtools/locks/operator.txt",
        "devtools/locks/wheel.txt",
        "operator/sluice",
        "pyproject.toml",
    ),
)
REDIS = Recipe(
    "redis", ROOT / "devtools" / "cluster" / "redis.Containerfile", ROOT / "devtools" / "cluster", ()
)
ENGINE = Recipe(
    "engine",
    ROOT / "devtools" / "localengine" / "Containerfile",
    ROOT,
    ("devtools/localengine",),
    (("BASE", SPARK), ("OPERATOR", OPERATOR)),
)
RECIPES = (SPARK, OPERATOR, REDIS, ENGINE)
"""What the tests of each run need."""


@dataclass(frozen=True)
class Image:
    """An image as a file that a container runtime can import."""

    name: str
    archive: Path


def contents(recipe: Recipe) -> dict[str, Path]:
    """Every file of the build context: its place in there, and where it comes from."""
    files = (file for name in recipe.copied for file in _files(recipe.context / name))
    return {str(file.relative_to(recipe.context)): file for file in files}


def _files(path: Path) -> list[Path]:
    """The file, or all of a folder but what Python leaves behind."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def key(recipe: Recipe) -> str:
    files = contents(recipe)
    below = (f"{argument}={image_name(other)}" for argument, other in recipe.built_on)
    chosen = (f"{argument}={value}" for argument, value in recipe.chosen)
    return key_of(recipe.containerfile, *files, *files.values(), *below, *chosen)


def image_name(recipe: Recipe) -> str:
    return f"localhost/sluice-{recipe.name}:{key(recipe)}"


def ensure_images(cache: Cache, recipes: Sequence[Recipe] = RECIPES) -> Mapping[str, Image]:
    """The images by their recipes' names, built side by side: one fetches while another compiles."""
    with ThreadPoolExecutor(max_workers=len(recipes), thread_name_prefix="image") as pool:
        built = pool.map(lambda recipe: ensure_image(cache, recipe), recipes)
        return dict(zip((recipe.name for recipe in recipes), built, strict=True))


def ensure_image(cache: Cache, recipe: Recipe) -> Image:
    """The image, with those that it is built on; built when anything that goes into it has changed."""
    name = image_name(recipe)
    folder = cache.ensure(
        f"{recipe.name}-image", key(recipe), lambda place: _build(cache, recipe, name, place)
    )
    return Image(name, folder / ARCHIVE)


def _build(cache: Cache, recipe: Recipe, name: str, place: Path) -> None:
    bases = {argument: ensure_image(cache, other).name for argument, other in recipe.built_on}
    if not bases:
        bases["BASE"] = ensure_debian(cache)
    with (
        step(f"Building the {recipe.name} image"),
        tempfile.TemporaryDirectory(prefix="sluice-image-") as folder,
    ):
        _lay_out(contents(recipe), Path(folder))
        log = cache.log(f"{recipe.name}-image")
        build = buildah(
            cache,
            "bud",
            "--layers",
            "--isolation=chroot",
            *_certificates(),
            *(f"--build-arg={argument}={value}" for argument, value in (*bases.items(), *recipe.chosen)),
            f"--file={recipe.containerfile}",
            f"--tag={name}",
            folder,
        )
        failure = f"buildah could not build the {recipe.name} image: check the network and try again."
        fetch(build, log, failure=failure)
        push = buildah(cache, "push", name, f"docker-archive:{place / ARCHIVE}:{name}")
        failure = f"buildah could not write the {recipe.name} image to {place}: check the free space."
        run(push, log, failure=failure)
        say(f"    the {recipe.name} image: {megabytes((place / ARCHIVE).stat().st_size)} MB unpacked")
    forget_old(place.parent)


def megabytes(size: int) -> int:
    return size // 1_000_000


def compressed(archive: Path) -> int:
    """What a registry keeps and a node fetches, nearly: registries compress each layer by itself."""
    size = 0

    class Counted:
        def write(self, data: bytes) -> int:
            nonlocal size
            size += len(data)
            return len(data)

    with archive.open("rb") as plain, gzip.GzipFile(fileobj=Counted(), mode="wb", compresslevel=1) as packed:  # type: ignore[call-overload]
        while chunk := plain.read(1 << 20):
            packed.write(chunk)
    return size


def ensure_compressed_size(cache: Cache, recipe: Recipe) -> int:
    """How large the image is when compressed, counted once: that takes twenty seconds, and the content decides it."""
    archive = ensure_image(cache, recipe).archive

    def count(folder: Path) -> None:
        (folder / "bytes").write_text(str(compressed(archive)), encoding="utf-8")

    folder = cache.ensure(f"{recipe.name}-image-size", key(recipe), count)
    return int((folder / "bytes").read_text(encoding="utf-8"))


def _lay_out(files: Mapping[str, Path], folder: Path) -> None:
    for target, source in files.items():
        copy = folder / target
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def forget_old(images: Path) -> None:
    """Makes room for the one that has just been built: each is hundreds of megabytes, and every change makes another."""
    finished = [
        folder for folder in images.iterdir() if (folder / ARCHIVE).exists() and folder.name[0] != "."
    ]
    finished.sort(key=lambda folder: folder.stat().st_mtime)
    for folder in finished[: 1 - KEPT_IMAGES]:
        shutil.rmtree(folder)


def _certificates() -> list[str]:
    """Behind a proxy that signs for others, pip and Java trust whom this machine trusts."""
    bundle, java = "ca-certificates.crt", "java/cacerts"
    trusting: list[str] = []
    if (_HOST_CERTIFICATES / bundle).exists():
        trusting.append(f"--build-arg=PIP_CERT={_MOUNTED_CERTIFICATES}/{bundle}")
    if (_HOST_CERTIFICATES / java).exists():
        store = f"-Djavax.net.ssl.trustStore={_MOUNTED_CERTIFICATES}/{java}"
        trusting.append(f"--build-arg=JAVA_TOOL_OPTIONS={store} -Djavax.net.ssl.trustStorePassword=changeit")
    return [f"--volume={_HOST_CERTIFICATES}:{_MOUNTED_CERTIFICATES}:ro", *trusting] if trusting else []
