# SPDX-License-Identifier: MIT
"""How `pip install ./python` builds the package: CMake compiles the extension module, this file puts
it and the Python files into a wheel. Nothing is fetched: a wheel is a zip file with three more files
in it, so neither setuptools nor the network is needed (PEP 427, 517).

SIS_BUILD names the folder to build in; by default it is build/wheel of the checkout, kept for the next
time.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def version():
    with open(os.path.join(ROOT, "include", "sis", "sis.h"), encoding="utf-8") as f:
        return re.search(r'#define SIS_VERSION "([^"]+)"', f.read()).group(1)


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout)
        sys.exit("sis: %s failed; the README says what the build needs, `make deps` installs it"
                 % " ".join(command[:2]))


def compile_module():
    """The path of the extension module: compiled now, or SIS_MODULE if that says where it is."""
    if os.environ.get("SIS_MODULE"):
        return os.environ["SIS_MODULE"]
    folder = os.environ.get("SIS_BUILD") or os.path.join(ROOT, "build", "wheel")
    suffix = sysconfig.get_config_var("EXT_SUFFIX") or ".so"
    include = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(include, "Python.h")):
        sys.exit("sis: there is no Python.h in %s (Debian: apt-get install python3-dev)" % include)
    run(["cmake", "-S", ROOT, "-B", folder, "-DSIS_TESTS=OFF", "-DSIS_PYTHON_INCLUDE=" + include,
         "-DSIS_PYTHON_SUFFIX=" + suffix] + os.environ.get("SIS_CMAKE_FLAGS", "").split())
    run(["cmake", "--build", folder, "--target", "sis_python", "-j", str(os.cpu_count() or 2)])
    return os.path.join(folder, "python", "sis", "_core" + suffix)


def metadata():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as f:
        readme = f.read()
    return ("Metadata-Version: 2.1\nName: sis\nVersion: %s\nSummary: Sufficient input subsets: which "
            "part of this input was enough for the decision?\nLicense: MIT\nRequires-Python: >=3.10\n"
            "Requires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n%s" % (version(), readme))


def tag():
    python = "cp%d%d" % sys.version_info[:2]
    return "%s-%s-%s" % (python, python, sysconfig.get_platform().replace("-", "_").replace(".", "_"))


class Wheel:
    """A zip file that keeps the list of what is in it."""

    def __init__(self, path, info):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.info, self.record = info, []

    def add(self, name, data):
        entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
        entry.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self):
        name = self.info + "/RECORD"
        self.zip.writestr(name, "\n".join(self.record + [name + ",,"]) + "\n")
        self.zip.close()


def write_wheel(folder, files):
    info = "sis-%s.dist-info" % version()
    name = "sis-%s-%s.whl" % (version(), tag())
    wheel = Wheel(os.path.join(folder, name), info)
    for inside, data in files:
        wheel.add(inside, data)
    wheel.add(info + "/METADATA", metadata().encode())
    wheel.add(info + "/WHEEL", ("Wheel-Version: 1.0\nGenerator: sis\nRoot-Is-Purelib: false\nTag: %s\n"
                                % tag()).encode())
    wheel.add(info + "/entry_points.txt", b"[console_scripts]\nsis-python = sis.__main__:main\n")
    wheel.close()
    return name


def package_files(module):
    source = os.path.join(HERE, "sis")
    for name in sorted(os.listdir(source)):
        if name.endswith((".py", ".pyi", ".typed")):
            with open(os.path.join(source, name), "rb") as f:
                yield "sis/" + name, f.read()
    with open(module, "rb") as f:
        yield "sis/" + os.path.basename(module), f.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return write_wheel(wheel_directory, package_files(compile_module()))


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("sis: the package is built from a checkout of the project; there is no source archive "
             "of its Python part alone")
