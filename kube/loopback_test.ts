import fc from "fast-check";
import t from "tap";
import { isLoopback } from "./loopback.ts";

t.test("what leads to this machine, and nowhere else", async (t) => {
  for (const host of ["localhost", "LocalHost", "127.0.0.1", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"])
    t.equal(isLoopback(host), true, host);
  for (const host of [
    "",
    "0.0.0.0",
    "::",
    "128.0.0.1",
    "126.255.255.255",
    "::2",
    "127.0.0.1.example.com",
    "127.example.com",
    "127.999.0.1",
    "127.1",
    "[::1]",
    "localhost.example.com",
  ])
    t.equal(isLoopback(host), false, host);
});

t.test("of addresses those of 127/8 alone, mapped ones as well", async () => {
  const byte = fc.nat({ max: 255 });
  fc.assert(
    fc.property(fc.constantFrom(126, 127, 128, 10), byte, byte, byte, (first, ...rest) => {
      const address = [first, ...rest].join(".");
      return [address, `::ffff:${address}`].every((one) => isLoopback(one) === (first === 127));
    }),
    { seed: 127, numRuns: 1000 },
  );
});
