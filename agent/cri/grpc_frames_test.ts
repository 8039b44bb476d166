import fc from "fast-check";
import t from "tap";
import { MessageReader, messageFrame } from "./grpc_frames.ts";
import { GrpcError } from "./grpc_status.ts";

const runs = { numRuns: 300, seed: 20_261 };

t.test("messages come out as they went in, however the connection cuts them", (t) => {
  const messages = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
  const cuts = fc.array(fc.integer({ min: 1, max: 17 }), { minLength: 1 });
  fc.assert(
    fc.property(messages, cuts, (sent, sizes) => {
      const bytes = Buffer.concat(sent.map(messageFrame));
      const reader = new MessageReader(40);
      const found: Uint8Array[] = [];
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length] ?? 1;
        found.push(...reader.push(bytes.subarray(at, at + size)));
        at += size;
      }
      t.same(
        found.map((one) => [...one]),
        sent.map((one) => [...one]),
      );
      t.equal(reader.isInsideMessage, false);
    }),
    runs,
  );
  t.end();
});

t.test("any bytes end as messages or as a GrpcError, and memory stays within the limit", (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 64 }), { maxLength: 8 }), (pieces) => {
      const reader = new MessageReader(100);
      try {
        for (const piece of pieces) for (const message of reader.push(piece)) t.ok(message.byteLength <= 100);
      } catch (error) {
        t.ok(error instanceof GrpcError);
      }
    }),
    runs,
  );
  t.end();
});

t.test("a length over the limit is refused before its bytes arrive; compression is refused", (t) => {
  const reader = new MessageReader(10);
  t.throws(() => reader.push(Uint8Array.of(0, 0, 0, 0, 11)), {
    name: "GrpcError",
    message: /larger than max \(11 vs\. 10\)/,
  });
  t.throws(() => new MessageReader(10).push(Uint8Array.of(1, 0, 0, 0, 1, 7)), {
    name: "GrpcError",
    message: /compressed/,
  });
  const half = new MessageReader(10);
  t.same(half.push(Uint8Array.of(0, 0, 0, 0, 2, 7)), []);
  t.equal(half.isInsideMessage, true);
  t.end();
});
