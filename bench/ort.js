// SPDX-License-Identifier: MIT
//
// Rows per second of ONNX Runtime on one model: the best of several timed runs.
//
//   node ort.js MODEL.onnx BATCH THREADS SECONDS
//
// BATCH `best`: tries 1, 2, 4 ... 256 and measures processor seconds. Prints one number. Exit status 3:
// onnxruntime-node is not installed (tools/install-ort.sh).
let ort;
try {
  ort = require('onnxruntime-node');
} catch (error) {
  process.exit(3);
}

// Rows a second of repeated calls.
async function measure(session, batch, seconds, now) {
  const name = session.inputNames[0];
  const shape = session.inputMetadata[0].shape.map((d, i) => (i === 0 ? batch : Number(d)));
  const count = shape.reduce((a, b) => a * b, 1);
  let data = Float32Array.from({length: count}, (_, i) => ((i * 2654435761) >>> 8) % 1000 / 1000);
  if (session.inputMetadata[0].type === 'int64')
    data = BigInt64Array.from({length: count}, (_, i) => BigInt(i % 200));
  const feeds = {[name]: new ort.Tensor(session.inputMetadata[0].type, data, shape)};
  await session.run(feeds);
  let best = 0;
  const end = now() + seconds;
  do {
    const began = now();
    await session.run(feeds);
    best = Math.max(best, batch / (now() - began));
  } while (now() < end);
  return best;
}

async function main() {
  const [path, batch, threads, seconds] = process.argv.slice(2);
  const session = await ort.InferenceSession.create(path, {
    intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all',
  });
  const processor = () => { const u = process.cpuUsage(); return (u.user + u.system) / 1e6; };
  const batches = batch === 'best' ? [1, 2, 4, 8, 16, 32, 64, 128, 256] : [Number(batch)];
  let best = 0;
  for (const n of batches)
    best = Math.max(best, await measure(session, n, Number(seconds),
                                        batch === 'best' ? processor : () => performance.now() / 1000));
  console.log(best.toFixed(1));
}

main().catch((error) => { console.error(String(error)); process.exit(1); });
