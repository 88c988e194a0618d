# Images as input: IDX and PNG; pixels are features, colours where the model wants them.
field() { sed -n 's/.*\("'$1'":\(\[[^]]*\]\|"[^"]*"\)\).*/\1/p'; }
model="cmd:$SIS_MODELS/sum.sh"
{ printf '\0\0\10\3\0\0\0\2\0\0\0\2\0\0\0\2'; printf '\377\0\0\63\0\0\377\377'; } > t-images-idx3-ubyte
{ printf '\0\0\10\1\0\0\0\2'; printf '\7\3'; } | gzip > t-labels-idx1-ubyte.gz
sis explain -q -m "$model" -i t-images-idx3-ubyte --mask zero -t 1 > idx.jsonl
field kind < idx.jsonl; field shape < idx.jsonl; field values < idx.jsonl; field label < idx.jsonl
grep -o '"features":\[[^]]*\]' idx.jsonl
# 5 x 4 pixels of three colours
base64 -d > colours.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAUAAAAECAIAAADJUWIXAAAAS0lEQVR42gFAAL//AAAUKDJGWmR4jJaqvsjc8AADFys1SV1ne4+Z
rcHL3/MABhouOExgan6SnLDEzuL2AAkdMTtPY22BlZ+zx9Hl+U6tHS8nyvOmAAAAAElFTkSuQmCC
END
make_model tiny-colours c.onnx 5 sis.kind=image
sis explain -q -m c.onnx -i colours.png --mask zero -t 0.5 > png.jsonl
field shape < png.jsonl; field values < png.jsonl | cut -d, -f1-6; field feature_map < png.jsonl | cut -d, -f1-6,19-24
grep -o '"n_features":[0-9]*' png.jsonl
# Axes are those of the image, though the model has the colours first: without the third, pixels are features.
sis explain -q -m c.onnx -i colours.png --mask zero -t 0.5 --features axis:2 > axis.jsonl
for f in png axis; do field feature_map < $f.jsonl > $f.map; done
cmp png.map axis.map && echo "pixels"
sis explain -q -m c.onnx -i colours.png --mask zero -t 0.5 --features axis:0 | field feature_map
# The shape of a file says where its channels are; a list is as the model takes it.
array() { # SHAPE RULE: 60 bytes, the i-th what awk makes of RULE
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': $1, }"
    printf "$(awk "BEGIN { for (i = 0; i < 60; i++) printf \"\\\\%03o\", $2 }")"
}
array '(4, 5, 3)' 'int(i / 3)' > hwc.npy
array '(1, 4, 5, 3)' 'int(i / 3)' > batch.npy
array '(3, 4, 5)' 'i % 20' > chw.npy
array '(60,)' 'i % 20' > list.npy
for f in hwc batch chw list; do
    sis explain -q -m c.onnx -i colours.png --mask zero -t 0.5 --features $f.npy | field feature_map | cmp - png.map && echo "map $f"
    sis explain -q -m c.onnx -i colours.png --mask $f.npy -t 0.5 | grep -o '"mask":\[[^]]*\]' > $f.mask
    cmp $f.mask hwc.mask
done
cut -d, -f1-5,21-23 hwc.mask
sis explain -q -m "$model" -i colours.png --mask chw.npy -t 1 | grep -o '"mask":\[[^]]*\]' | cut -d, -f1-6
sis predict -m c.onnx -i colours.png > a
sis explain -q -m "$model" -i colours.png --mask zero -t 1000 > as_read.jsonl
field shape < as_read.jsonl; field values < as_read.jsonl | cut -d, -f1-6; field feature_map < as_read.jsonl | cut -d, -f1-6
sed 's/.*"values":\[\([^]]*\)\].*/\1/' png.jsonl > row
{ tr ',' '\n' < row | awk '{ printf "%sv%d", (NR > 1 ? "," : ""), NR }'; echo; cat row; } > row.csv
sis predict -m c.onnx -i row.csv | sed 's/"id":"[^"]*"//' > b
sed 's/"id":"[^"]*"//' a | cmp - b && echo "channels first score alike"
printf x > bad.png
sis explain -q -m "$model" -i bad.png --mask zero -t 1 2>&1
head -c 10 t-images-idx3-ubyte > cut-idx3-ubyte
sis explain -q -m "$model" -i cut-idx3-ubyte --mask zero -t 1 2>&1
true
