# SPDX-License-Identifier: MIT
"""How pip builds the package (PEP 517, 660): CMake compiles the module and the program, this file puts them
and the Python files into a wheel. It needs neither setuptools nor the network.

    python3 python/backend.py FOLDER     a wheel in FOLDER, without pip

The wheel is tagged for what its files need. If patchelf is there, the libraries that no system is sure to have
are put inside, and the tag is manylinux_2_X, where 2.X is the oldest C library that has all symbols. Otherwise
the wheel uses the libraries of this machine, and is tagged linux: for this machine alone.

SIS_BUILD is the folder to build in, by default build/wheel of the checkout, kept for the next time. SIS_BUILT
is a folder where everything is built already. SIS_CMAKE_FLAGS are further flags of CMake.
"""
import base64
import gzip
import hashlib
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# What the package is built from.
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "cli", "include", "mpi", "pyproject.toml", "python", "src", "tools")
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux[-\w]*)\.so\.\d+")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


# ---- Metadata: what pyproject.toml says, and the version of the header -----------------------------

PROJECT = tomllib.loads(read("pyproject.toml"))["project"]
VERSION = re.search(r'#define SIS_VERSION "([^"]+)"', read("include", "sis", "sis.h")).group(1)
NAME = "%s-%s" % (PROJECT["name"].replace("-", "_"), VERSION)


def metadata():
    lines = ["Metadata-Version: 2.1", "Name: " + PROJECT["name"], "Version: " + VERSION,
             "Summary: " + PROJECT["description"], "License: " + PROJECT["license"]["text"],
             "Requires-Python: " + PROJECT["requires-python"]]
    lines += ["Requires-Dist: " + need for need in PROJECT["dependencies"]]
    lines += ["Description-Content-Type: text/markdown", "", read(PROJECT["readme"])]
    return "\n".join(lines)


def info_files():
    """The files of the .dist-info folder that need no build."""
    scripts = ["[console_scripts]"] + ["%s = %s" % pair for pair in PROJECT["scripts"].items()]
    return {"METADATA": metadata(), "LICENSE": read("LICENSE"), "entry_points.txt": "\n".join(scripts) + "\n"}


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = NAME + ".dist-info"
    os.makedirs(os.path.join(metadata_directory, folder))
    for name, text in info_files().items():
        with open(os.path.join(metadata_directory, folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    return folder


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


# ---- Build -----------------------------------------------------------------------------------------

def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def configure(folder):
    include = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(include, "Python.h")):
        sys.exit("sis: there is no Python.h in %s (Debian: apt-get install python3-dev)" % include)
    if not shutil.which("cmake"):
        sys.exit("sis: the build needs cmake and the packages of docs/install.md (Debian: tools/install-deps.sh "
                 "installs them)")
    done = subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DSIS_PYTHON_INCLUDE=" + include]
                          + shlex.split(os.environ.get("SIS_CMAKE_FLAGS", "")),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        missing = subprocess.run([os.path.join(ROOT, "tools", "install-deps.sh"), "--check"]).returncode
        sys.exit("sis: the build cannot start" if missing else done.stdout + "sis: cmake failed")


def build_folder():
    """A folder with the module and the program. `pip -v` shows how far the compiler is."""
    if os.environ.get("SIS_BUILT"):
        return os.environ["SIS_BUILT"]
    folder = os.environ.get("SIS_BUILD") or os.path.join(ROOT, "build", "wheel")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:  # somebody else's checkout
        folder = tempfile.mkdtemp(prefix="sis-build-")
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 2)
    print("sis: compiling with %s jobs in %s; this takes a few minutes" % (jobs, folder), flush=True)
    configure(folder)
    if subprocess.run(["cmake", "--build", folder, "--target", "wheel_files", "-j", jobs]).returncode:
        sys.exit("sis: the compiler failed; see its messages above")
    return folder


# ---- Libraries inside, and the tag -------------------------------------------------------------------

def needs(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", path))


def carry(stage, binaries):
    """Copy the libraries that the binaries need into the package, under names that no other library has: Python
    may have loaded another one of the same name."""
    found = dict(line.split()[0:3:2] for b in binaries for line in output("ldd", b).splitlines() if "=> /" in line)
    names = {}
    for name in [name for name in found if not SYSTEM.fullmatch(name)]:
        with open(found[name], "rb") as f:
            data = f.read()
        names[name] = re.sub(r"\.so", "-%s.so" % hashlib.sha256(data).hexdigest()[:8], name, count=1)
        os.makedirs(os.path.join(stage, "sis", "libs"), exist_ok=True)
        copy = os.path.join(stage, "sis", "libs", names[name])
        with open(copy, "wb") as f:
            f.write(data)
        subprocess.run(["patchelf", "--set-soname", names[name], copy], check=True)
        binaries.append(copy)
    for path in binaries:
        renamed = [word for name in needs(path) if name in names
                   for word in ("--replace-needed", name, names[name])]
        if renamed:
            up = os.path.relpath(os.path.join(stage, "sis", "libs"), os.path.dirname(path))
            subprocess.run(["patchelf", "--set-rpath", os.path.join("$ORIGIN", up), path], check=True)
            subprocess.run(["patchelf", *renamed, path], check=True)
    return list(names)


def licences(libraries):
    """What Debian says of the licences of libraries that are put inside: (name, text)."""
    if libraries and shutil.which("dpkg-query"):
        answer = subprocess.run(["dpkg-query", "-S", *("*/" + name for name in libraries)], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True).stdout
        for package in sorted({line.split(":")[0] for line in answer.splitlines()}):
            path = "/usr/share/doc/%s/copyright" % package
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    yield package, f.read()


def platform_tag(binaries):
    if sys.platform == "darwin":
        versions = [v for b in binaries for v in re.findall(r"minos (\d+)\.(\d+)", output("otool", "-l", b))]
        return "macosx_%d_%d_%s" % (*max((int(a), int(b)) for a, b in versions), os.uname().machine)
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    inside = {os.path.basename(b) for b in binaries}
    if not all(SYSTEM.fullmatch(name) or name in inside for b in binaries for name in needs(b)):
        return machine
    text = "".join(output("readelf", "-V", b) for b in binaries).replace("GLIBC_ABI_DT_RELR", "GLIBC_2.36")
    return "manylinux_2_%d_%s" % (max(map(int, re.findall(r"GLIBC_2\.(\d+)", text))), machine.split("_", 1)[1])


# ---- Wheels and the source archive -------------------------------------------------------------------

class Wheel:
    """A zip file with a list of its files."""

    def __init__(self, folder, tag):
        self.name, self.info, self.record = "%s-%s.whl" % (NAME, tag), NAME + ".dist-info/", []
        self.zip = zipfile.ZipFile(os.path.join(folder, self.name), "w")
        self.tag = tag

    def add(self, name, data, mode=0o644):
        data = data if isinstance(data, bytes) else data.encode()
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))

    def close(self):
        for name, text in info_files().items():
            self.add(self.info + name, text)
        self.add(self.info + "WHEEL", "Wheel-Version: 1.0\nGenerator: sis %s\nRoot-Is-Purelib: false\nTag: %s\n"
                 % (VERSION, self.tag))
        self.zip.writestr(self.info + "RECORD", "".join(self.record) + self.info + "RECORD,,\n")
        self.zip.close()
        return self.name


def python_files():
    yield "_sis_program.py"
    for name in sorted(os.listdir(os.path.join(HERE, "sis"))):
        if name.endswith((".py", ".pyi", ".typed")):
            yield "sis/" + name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    with tempfile.TemporaryDirectory() as stage:
        output("cmake", "--install", build_folder(), "--component", "wheel", "--strip", "--prefix", stage)
        binaries = [os.path.join(stage, "sis", "_core.abi3.so"), os.path.join(stage, "sis", "bin", "sis")]
        may_carry = platform.libc_ver()[0] == "glibc" and shutil.which("patchelf")
        libraries = carry(stage, binaries) if may_carry else []
        wheel = Wheel(wheel_directory, "cp311-abi3-" + platform_tag(binaries))
        for name in python_files():
            wheel.add(name, read("python", name))
        for path in binaries:
            with open(path, "rb") as f:
                wheel.add(os.path.relpath(path, stage), f.read(), 0o755)
        for package, text in licences(libraries):
            wheel.add(wheel.info + "licenses/" + package, text)
        return wheel.close()


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that only points to the build folder, where links to the Python files lie beside the module."""
    wheel = Wheel(wheel_directory, "py3-none-any")
    wheel.add("_sis.pth", os.path.join(os.path.abspath(build_folder()), "python") + "\n")
    return wheel.close()


def source_files():
    """The files that git knows, or, outside of a checkout, those that are there."""
    git = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", *SOURCES], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True) if shutil.which("git") else None
    if git and git.stdout:
        return [path for path in git.stdout.split("\0") if os.path.isfile(os.path.join(ROOT, path))]
    return sorted(os.path.relpath(os.path.join(folder, name), ROOT)
                  for top in SOURCES for folder, _, names in [("", [], [top]), *os.walk(os.path.join(ROOT, top))]
                  for name in names if os.path.isfile(os.path.join(ROOT, folder, name)) and "__pycache__" not in folder)


def build_sdist(sdist_directory, config_settings=None):
    name = NAME + ".tar.gz"
    with open(os.path.join(sdist_directory, name), "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z, \
            tarfile.open(fileobj=z, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(path, data, mode):
            entry = tarfile.TarInfo(NAME + "/" + path)
            entry.size, entry.mode = len(data), mode
            tar.addfile(entry, io.BytesIO(data))
        for path in source_files():
            whole = os.path.join(ROOT, path)
            with open(whole, "rb") as source:
                add(path, source.read(), 0o755 if os.access(whole, os.X_OK) else 0o644)
        add("PKG-INFO", metadata().encode(), 0o644)
    return name


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: backend.py FOLDER")
    os.makedirs(sys.argv[1], exist_ok=True)
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
