"""Builds the Spark image with debootstrap and buildah, and keeps it under a key made of all that goes into it.

Registries of images can't be reached everywhere, so the base that the Containerfile would take from one is made here. What is
slow (Debian, Java, PySpark) lies in layers that change only with the Containerfile and its lock.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devenv.cache import Cache, key_of
from devenv.processes import Argument, fetch, run
from devenv.progress import step
from devenv.project import ROOT

SOURCES = ROOT / "spark-images"
SUITE = "bookworm"
BASE = f"localhost/debian:{SUITE}"
NAME = "localhost/sluice-spark"
BASE_FILE = "FROM scratch\nADD rootfs.tar /\n"
ARCHIVE = "image.tar"
KEPT_IMAGES = 3

_HOST_CERTIFICATES = Path("/etc/ssl/certs")


@dataclass(frozen=True)
class Image:
    """An image as a file that a container runtime can import."""

    name: str
    archive: Path


def contents(jars: Sequence[Path], sources: Path = SOURCES) -> dict[str, Path]:
    """Every file of the build context: its place in there, and where it comes from."""
    runner = sources / "runner" / "src"
    return {
        **{name: sources / name for name in ("Containerfile", "requirements.txt", "entrypoint.sh")},
        **{f"jars/{jar.name}": jar for jar in sorted(jars)},
        "runner/run.py": sources / "runner" / "run.py",
        **{f"runner/{file.relative_to(runner)}": file for file in sorted(runner.rglob("*.py"))},
    }


def ensure_image(cache: Cache, jars: Sequence[Path]) -> Image:
    """The Spark image with these jars in it; built when anything in it has changed."""
    files = contents(jars)
    key = key_of(*files, *files.values())
    name = f"{NAME}:{key}"
    folder = cache.ensure("spark-image", key, lambda place: _build(cache, files, name, place))
    folder.touch()
    _forget_old(folder.parent)
    return Image(name, folder / ARCHIVE)


def _build(cache: Cache, files: Mapping[str, Path], name: str, place: Path) -> None:
    _ensure_base(cache)
    with step("Building the Spark image"), tempfile.TemporaryDirectory(prefix="sluice-image-") as context:
        for target, source in files.items():
            copy = Path(context) / target
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
        options = ["--layers", "--isolation", "chroot", *_certificates(), f"--build-arg=BASE={BASE}"]
        log = cache.log("spark-image")
        build = _buildah(cache, "bud", *options, "-t", name, context)
        fetch(build, log, failure="buildah could not build the Spark image: check the network and try again.")
        push = _buildah(cache, "push", name, f"docker-archive:{place / ARCHIVE}:{name}")
        run(push, log, failure=f"buildah could not write the Spark image to {place}: check the free space.")


def _forget_old(images: Path) -> None:
    """An image is more than a gigabyte, and every change of the runner makes another."""
    finished = [
        folder for folder in images.iterdir() if (folder / ARCHIVE).exists() and folder.name[0] != "."
    ]
    finished.sort(key=lambda folder: folder.stat().st_mtime)
    for folder in finished[:-KEPT_IMAGES]:
        shutil.rmtree(folder)


def _ensure_base(cache: Cache) -> None:
    def build(place: Path) -> None:
        log = cache.log("spark-image")
        with (
            step(f"Building Debian {SUITE} for the Spark image"),
            tempfile.TemporaryDirectory(prefix="sluice-base-") as work,
        ):
            rootfs = Path(work) / "rootfs"
            # It doesn't go on where it broke off.
            anew = 'rm -rf --one-file-system -- "$2" && exec debootstrap --variant=minbase "$0" "$1" "$2"'
            fetch(
                ["sh", "-c", anew, "--include=ca-certificates", SUITE, rootfs],
                log,
                failure="debootstrap failed: check this machine's package sources and that it runs as root.",
            )
            run(
                ["tar", "-C", rootfs, "-cf", f"{work}/rootfs.tar", "."], log, failure="Packing Debian failed."
            )
            shutil.rmtree(rootfs)
            (Path(work) / "Containerfile").write_text(BASE_FILE)
            build = _buildah(cache, "bud", "--isolation", "chroot", "-t", BASE, work)
            run(build, log, failure="buildah could not make an image of Debian: check the free space.")
        (place / "built").touch()

    cache.ensure("debian-base", key_of(SUITE, BASE_FILE), build)


def _certificates() -> list[str]:
    """Behind a proxy that signs for others, pip trusts whom this machine trusts."""
    bundle = _HOST_CERTIFICATES / "ca-certificates.crt"
    if not bundle.exists():
        return []
    return ["-v", f"{_HOST_CERTIFICATES}:/hostcerts:ro", "--build-arg", f"PIP_CERT=/hostcerts/{bundle.name}"]


def _buildah(cache: Cache, *arguments: str) -> list[Argument]:
    storage = cache.folder / "buildah"
    driver = ["--storage-driver", "overlay"]
    return ["buildah", *driver, "--root", storage / "root", "--runroot", storage / "run", *arguments]
