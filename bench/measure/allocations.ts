/** What a process allocates, what is freed again included: a sample of its allocations, by V8's own profiler. */
import { Array as ArrayType, Number as NumberType, Object as ObjectType } from "typebox";
import { Check } from "typebox/value";
import { BenchError } from "../errors.ts";
import { Inspector } from "./inspector.ts";

/** One allocation in so many bytes is looked at. */
const samplingInterval = 32_768;

export interface Allocations {
  /** An estimate, within a few percent from 100 MB on. */
  readonly bytes: number;
  /** By place in the code, as a `.heapprofile` file, which Chrome's developer tools open. */
  readonly profile: string;
}

export interface RunningAllocations {
  stop(): Promise<Allocations>;
}

const profileForm = ObjectType({ samples: ArrayType(ObjectType({ size: NumberType() })) });

/** From now on, of the process whose inspector is at this port. Throws BenchError when none answers. */
export async function startAllocations(port: number): Promise<RunningAllocations> {
  const inspector = await Inspector.at(port);
  await inspector.ask("HeapProfiler.startSampling", {
    samplingInterval,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  return {
    stop: async () => {
      try {
        const { profile } = await inspector.ask("HeapProfiler.stopSampling");
        if (!Check(profileForm, profile)) throw new BenchError("the inspector tells no allocations");
        const bytes = profile.samples.reduce((sum, { size }) => sum + size, 0);
        return { bytes, profile: JSON.stringify(profile) };
      } finally {
        inspector.close();
      }
    },
  };
}
