# The whole story, without a network. Digits are read by the MLP under the CNN's name: its walks take a quarter
# of the time, and what the CNN says of digits is tested elsewhere.
export XDG_DATA_HOME=$PWD/none SIS_MODELS=$PWD/models COLUMNS=80
mkdir models && ln -s "$SIS_EXAMPLES"/../models/*.onnx models && ln -sf mnist-mlp.onnx models/mnist-cnn.onnx
sis demo --dir 'a demo' > out 2> err || cat err
grep '^[$=(]\|^example' out | sed -e "s|$SIS_MODELS|models|g" -e 's/score [-0-9.e]*/score/' -e 's/[0-9]* sufficient subsets*/N sufficient subsets/'
cat err
ls 'a demo'
sis demo --dir 'a demo' 2>&1 | tail -n 1
SIS_MODELS=$PWD sis demo --dir other 2>&1
touch file && sis demo --dir file 2>&1 | tail -n 1
