# Small files that unpack to large ones: memory is what the header says and --rows needs, checked before it is taken.
python3 -c 1 2>/dev/null || { echo "needs python3" && exit 77; }
python3 - <<'END'
import gzip, struct
block = gzip.compress(bytes(1 << 24), 9)  # 16 MiB of zeros; members follow each other
def npy(name, shape, blocks, order="False"):
    head = ("{'descr': '|u1', 'fortran_order': %s, 'shape': %s, }" % (order, shape)).encode().ljust(117) + b"\n"
    with open(name, "wb") as f:
        f.write(gzip.compress(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head) + block * blocks)
def idx(name, shape, blocks):
    with open(name, "wb") as f:
        f.write(gzip.compress(struct.pack(">4B", 0, 0, 8, len(shape)) + struct.pack(">%dI" % len(shape), *shape)) + block * blocks)
npy("large.npy.gz", (1 << 18, 4, 256), 16)          # 256 MiB
npy("bomb.npy.gz", (5 << 19, 1024), 160)            # 2.5 GiB
npy("wide.npy.gz", (1, 1 << 30), 64)                # 8 GiB as doubles
npy("lie.npy.gz", (1 << 30, 1 << 20), 1)
npy("turned.npy.gz", (5 << 19, 1024), 160, "True")
idx("large-images-idx3-ubyte.gz", (1 << 18, 4, 256), 16)
idx("large-labels-idx1-ubyte.gz", (1 << 18,), 0)
with open("large-labels-idx1-ubyte.gz", "ab") as f:
    f.write(gzip.compress(bytes(1 << 18)))
idx("bomb-images-idx3-ubyte.gz", (5 << 19, 4, 256), 160)
idx("bad-images-idx3-ubyte.gz", (2, 4, 256), 0)
with open("bad-images-idx3-ubyte.gz", "ab") as f:
    f.write(gzip.compress(bytes(2048)))
idx("bad-labels-idx1-ubyte.gz", (1 << 31,), 128)
END
# Resident memory is measured, since a sanitized program reserves more than any limit of addresses.
cat > within.py <<'END'
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stderr=subprocess.STDOUT)
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
if used > int(sys.argv[1]):
    print("%d MiB" % used)
END
predict() { python3 within.py 150 sis predict -q -m "cmd:$SIS_MODELS/sum.sh" --jobs 1 -i "$@"; }
echo "a few rows take little memory"
for file in large.npy.gz large-images-idx3-ubyte.gz bomb.npy.gz bomb-images-idx3-ubyte.gz; do
    predict $file --rows 0,2
done
sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i large-images-idx3-ubyte.gz --rows 1 --mask zero -t 1 | grep -o '"label":"[^"]*"'
python3 -c 'import gzip
open("columns.csv.gz", "wb").write(gzip.compress(b"a," * (1 << 23), 9) * 4)'
predict columns.csv.gz
echo "all of it is refused before it is read"
for file in bomb.npy.gz bomb-images-idx3-ubyte.gz wide.npy.gz lie.npy.gz turned.npy.gz bad-images-idx3-ubyte.gz; do predict $file; done
predict turned.npy.gz --rows 0
sis predict -q -m "cmd:$SIS_MODELS/sum.sh" --jobs 1 -i large.npy.gz --rows 262143,5
sis predict -q -m "cmd:$SIS_MODELS/sum.sh" --jobs 1 -i large.npy.gz --rows 262144 2>&1
true
