# tests/docs.sh runs what documents show, and notices when they are wrong.
docs=$SIS_EXAMPLES/../tests/docs.sh
check() {
    "$docs" "$(command -v sis)" "$1"
    echo "exit $?"
}
cat >good.md <<'END'
Not run:
```sh
exit 9
```
Run:
```sh run
echo 3 files in 0.25 s; echo kept >state
```
```text output
3 files in ... s
```
Another, that finds what the first one left:
~~~md
```sh run
this is about documents: exit 9
```
~~~
```sh run
cat state; ls examples/credit.csv; seq 5
```
```text output
kept
examples/credit.csv
1
...
5
```
````sh run fails
build/sis nonsense
````
````text output
sis: unknown command "nonsense"; see: sis --help
````
END
check good.md
printf '```sh run\necho one\n```\n```text output\ntwo\n```\n' >differs.md
check differs.md
printf '```sh run\necho one; echo two\n```\n```text output\n...\none\n```\n' >longer.md
check longer.md
printf 'x\n```sh run\necho oops >&2; exit 3\n```\n' >fails.md
check fails.md
printf '```sh run fails\ntrue\n```\n' >succeeds.md
check succeeds.md
printf '```sh\ntrue\n```\n```text output\nx\n```\n' >orphan.md
check orphan.md
printf -- '- ```sh run\n  true\n  ```\n' >indented.md
check indented.md
printf '```sh run\ntrue\n' >open.md
check open.md
printf '```sh run twice\ntrue\n```\n' >kind.md
check kind.md
