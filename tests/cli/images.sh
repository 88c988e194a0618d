# Folders of images, labels, other sizes, arrays that are images, blurred masks.
digits=$SIS_EXAMPLES/../models/mnist-cnn.onnx
mkdir -p pets/seven pets/other
cp "$SIS_EXAMPLES/seven.png" pets/seven/a.png
cp "$SIS_EXAMPLES/seven.png" pets/other/b.png
# 5 x 4 pixels of three colours
base64 -d > pets/other/colours.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAUAAAAECAIAAADJUWIXAAAAS0lEQVR42gFAAL//AAAUKDJGWmR4jJaqvsjc8AADFys1SV1ne4+Z
rcHL3/MABhouOExgan6SnLDEzuL2AAkdMTtPY22BlZ+zx9Hl+U6tHS8nyvOmAAAAAElFTkSuQmCC
END
sis predict -m "$digits" -i pets 2>&1
sis predict -m "$digits" -i pets --fit 2>&1 | cut -c1-60
sis explain -m "$digits" -i pets --fit --rows 2 --mask blur:8 -t 0.4 --max-subsets 1 -o fit.jsonl 2>&1
grep -o '"id":"[^"]*"\|"kind":"[^"]*"\|"label":"[^"]*"\|"shape":[^]]*]' fit.jsonl
sis verify fit.jsonl -m "$digits" -i pets --fit --mask blur:8 --force -o audit.jsonl 2>&1
sis verify fit.jsonl -m "$digits" -i pets --fit --mask blur:3 --force -o audit.jsonl 2>&1
sis report -q fit.jsonl -o fit.html
grep -o 'its surroundings, blurred by <bdi>8</bdi> pixels' fit.html
printf 'a,7\nb,7\ncolours,0\n' > labels.csv
sis explain -q -m "$digits" -i pets --fit --labels labels.csv -t 2 | grep -o '"label":"[^"]*"'
array() { # SHAPE BYTES
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': $1, }"
    head -c "$2" /dev/zero | tr '\0' '\1'
}
make_model tiny-colours c.onnx 5
array '(1, 4, 5, 3)' 60 > hwc.npy
array '(1, 3, 4, 5)' 60 > chw.npy
for layout in hwc chw; do
    sis explain -q -m c.onnx -i $layout.npy --kind image --layout $layout --mask zero -t 0.5 |
        grep -o '"kind":"[^"]*"\|"shape":[^]]*]\|"n_features":[0-9]*'
done
echo "normalised"
{
    head -c 128 chw.npy
    for c in 1 2 3; do head -c 20 /dev/zero | tr '\0' "\\$c"; done
} > planes.npy
few() { sis "$@" -q -m c.onnx --kind image --layout chw | grep -o '"scores":.*\|"subsets":.*,"rest_score":[^,]*'; }
few predict -i planes.npy > plain.txt
few predict -i chw.npy --normalize 0,-1,-2/1,1,1 | cmp - plain.txt && echo "one for each channel"
{
    head -c 128 chw.npy
    head -c 60 /dev/zero | tr '\0' '\2'
} > twos.npy
few explain -i twos.npy --mask zero -t 0.7 > plain.txt
few explain -i chw.npy --mask value:-1 --normalize=-1/1 -t 0.7 > same.txt && cmp same.txt plain.txt && grep -o '"features":[^]]*]' plain.txt
for how in 1,2/1,1 1,2/1 imagenet, 0/0 0/inf '' 1,1,1,1,1/1,1,1,1,1; do sis predict -q -m c.onnx -i chw.npy --kind image --layout chw --normalize "$how" 2>&1; done
sis predict -q -m "cmd:$SIS_MODELS/sum.sh" -i chw.npy --normalize imagenet 2>&1
sis explain -q -m c.onnx -i hwc.npy --mask blur:2 -t 0.5 2>&1
sis explain -q -m c.onnx -i hwc.npy --layout cwh --mask zero -t 0.5 2>&1
sis explain -q -m "cmd:$SIS_MODELS/sum.sh" -i pets --fit --mask zero -t 0.5 2>&1
sis explain -q -m "$digits" -i pets --fit --labels none.csv -t 0.6 2>&1
mkdir empty
sis predict -m "$digits" -i empty 2>&1
true
