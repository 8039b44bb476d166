/** What one call to the container runtime costs. */
import { createCriClient } from "../../agent/index.ts";
import { methods } from "../../proto/cri/index.ts";
import type { BenchIo } from "../io.ts";

export interface CallCost {
  readonly calls: number;
  /** Milliseconds of one call, calls one after another. */
  readonly ms: number;
}

const callsToWarmUp = 200;
const calls = 2000;

export async function measureCalls(socket: string, io: BenchIo): Promise<CallCost> {
  const client = createCriClient(socket, { clock: io.clock });
  try {
    for (let call = 0; call < callsToWarmUp; call++) await client.call(methods.Version, {});
    const began = io.clock.monotonic();
    for (let call = 0; call < calls; call++) await client.call(methods.Version, {});
    return { calls, ms: (io.clock.monotonic() - began) / calls };
  } finally {
    client.close();
  }
}
