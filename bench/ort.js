// SPDX-License-Identifier: MIT
//
// Rows per second of ONNX Runtime on one model, for bench_net: the best of several timed runs.
//
//   node ort.js MODEL.onnx BATCH THREADS SECONDS
//
// Prints one number. Exit status 3: onnxruntime-node is not installed (tools/install-ort.sh).
let ort;
try {
  ort = require('onnxruntime-node');
} catch (error) {
  process.exit(3);
}

async function main() {
  const [path, batch, threads, seconds] = [process.argv[2], ...process.argv.slice(3).map(Number)];
  const session = await ort.InferenceSession.create(path, {
    intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: 'all',
  });
  const name = session.inputNames[0];
  const shape = session.inputMetadata[0].shape.map((d, i) => (i === 0 ? batch : Number(d)));
  const count = shape.reduce((a, b) => a * b, 1);
  let data = Float32Array.from({length: count}, (_, i) => ((i * 2654435761) >>> 8) % 1000 / 1000);
  if (session.inputMetadata[0].type === 'int64')
    data = BigInt64Array.from({length: count}, (_, i) => BigInt(i % 1000));
  const feeds = {[name]: new ort.Tensor(session.inputMetadata[0].type, data, shape)};
  await session.run(feeds);
  let best = 0;
  const end = performance.now() + 1000 * seconds;
  do {
    const began = performance.now();
    await session.run(feeds);
    best = Math.max(best, batch / (performance.now() - began) * 1000);
  } while (performance.now() < end);
  console.log(best.toFixed(1));
}

main().catch((error) => { console.error(String(error)); process.exit(1); });
