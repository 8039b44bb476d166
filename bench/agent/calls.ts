/** What one call to the container runtime costs: the agent's own channel beside the gRPC library, in turns. */
import * as grpc from "@grpc/grpc-js";
import { createCriClient } from "../../agent/index.ts";
import { methods } from "../../proto/cri/index.ts";
import type { BenchIo } from "../io.ts";

export interface CallCost {
  readonly calls: number;
  /** Milliseconds of one call, calls one after another. */
  readonly ownMs: number;
  readonly libraryMs: number;
  readonly ratio: number;
}

const rounds = 10;
const callsOfRound = 200;

export async function measureCalls(socket: string, io: BenchIo): Promise<CallCost> {
  const own = createCriClient(socket, { clock: io.clock });
  const library = new grpc.Client(`unix:${socket}`, grpc.credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  const ask = {
    own: () => own.call(methods.Version, {}),
    library: () =>
      new Promise<void>((resolve, reject) => {
        library.makeUnaryRequest(methods.Version.path, same, same, Buffer.alloc(0), (error) =>
          error ? reject(error) : resolve(),
        );
      }),
  };
  const spent = { own: 0, library: 0 };
  try {
    for (let round = -1; round < rounds; round++) {
      for (const side of ["own", "library"] as const) {
        const began = io.clock.monotonic();
        for (let call = 0; call < callsOfRound; call++) await ask[side]();
        // The first round warms up.
        if (round >= 0) spent[side] += io.clock.monotonic() - began;
      }
    }
  } finally {
    own.close();
    library.close();
  }
  const calls = rounds * callsOfRound;
  return {
    calls,
    ownMs: spent.own / calls,
    libraryMs: spent.library / calls,
    ratio: spent.own / spent.library,
  };
}
