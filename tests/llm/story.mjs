// story.mjs - a model in llama.cpp's runtime, as the package node-llama-cpp carries it, for server.py.
//
//   node story.mjs MODULES FILE.gguf        MODULES: the folder node_modules
//
// The first line written is {"vocabulary": [bytes of each token in hex], "begin": id, "end": id}. Then each line that
// is read is a request, answered by one line:
//   {"text": "..."} -> {"ids": [...]}                      the tokens of a text
//   {"ids": [...], "last": n} -> {"logprobs": ["..."]}     after each of the last n tokens, of every next token: doubles
//                                                          in base64
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
const [modules, file] = process.argv.slice(2);
const { getLlama } = await import(pathToFileURL(modules + "/node-llama-cpp/dist/index.js"));
const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: 1 });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: 512, threads: 1 });
const sequence = context.getSequence();
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");

// The bytes of a token: as it is written behind another one.
const words = model.fileInfo.metadata.tokenizer.ggml.tokens;
const bytes = (word) => {
    const byte = /^<0x([0-9A-F]{2})>$/.exec(word);
    return byte ? byte[1].toLowerCase() : Buffer.from(word.replaceAll("\u2581", " ")).toString("hex");
};
say({ vocabulary: words.map(bytes), begin: model.tokens.bos, end: model.tokens.eos });

async function distributions(ids, last) {
    await sequence.clearHistory(); // an answer does not depend on the questions before it
    const asked = (i) => (i < ids.length - last ? {} : { generateNext: { probabilities: true } });
    const found = await sequence.controlledEvaluate(ids.map((id, i) => [id, asked(i)]));
    const logprob = (p) => Math.log(Math.max(p ?? 0, 1e-30));
    const row = ({ next }) => Float64Array.from(words, (_, id) => logprob(next.probabilities.get(id)));
    return found.slice(-last).map((at) => Buffer.from(row(at).buffer).toString("base64"));
}
for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    say(asked.ids ? { logprobs: await distributions(asked.ids, asked.last) } : { ids: model.tokenize(asked.text) });
}
process.exit(0);
