"""An image of Debian, made by debootstrap, for builds where no registry of images can be reached.

It is as slim as the one that a Containerfile would take from a registry: without manuals, translations and package lists.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from devenv.buildah import buildah
from devenv.cache import Cache, key_of
from devenv.processes import fetch, run
from devenv.progress import step

SUITE = "bookworm"
NAME = f"localhost/debian:{SUITE}-slim"
# So that packages that are installed later are as slim. Licenses stay.
DPKG_SETTINGS = """\
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
"""
_CONTAINERFILE = "FROM scratch\nADD rootfs.tar /\n"
_LISTS_AND_DOWNLOADS = ("var/cache/apt", "var/lib/apt/lists", "var/cache/ldconfig", "var/log")
_DOCUMENTS = ("usr/share/info", "usr/share/locale", "usr/share/man")


def ensure_debian(cache: Cache) -> str:
    """The name under which buildah has it."""
    cache.ensure("debian-slim", key_of(NAME, DPKG_SETTINGS), lambda place: _build(cache, place))
    return NAME


def _build(cache: Cache, place: Path) -> None:
    log = cache.log("debian-slim")
    with (
        step(f"Building Debian {SUITE} for images"),
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
        make_slim(rootfs)
        run(["tar", "-C", rootfs, "-cf", f"{work}/rootfs.tar", "."], log, failure="Packing Debian failed.")
        shutil.rmtree(rootfs)
        (Path(work) / "Containerfile").write_text(_CONTAINERFILE)
        build = buildah(cache, "bud", "--isolation", "chroot", "-t", NAME, work)
        run(build, log, failure="buildah could not make an image of Debian: check the free space.")
    (place / "built").touch()


def make_slim(rootfs: Path) -> None:
    """Takes away what nobody reads in a container."""
    settings = rootfs / "etc" / "dpkg" / "dpkg.cfg.d" / "slim"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(DPKG_SETTINGS)
    for folder in (*_LISTS_AND_DOWNLOADS, *_DOCUMENTS):
        for file in _files(rootfs / folder):
            file.unlink()
    for file in _files(rootfs / "usr" / "share" / "doc"):
        if file.name != "copyright":
            file.unlink()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
