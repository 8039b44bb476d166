/** What a bench hands on: the JSON of `--out`, its static types and its check from one schema. Times are milliseconds. */
import {
  Array as ArrayType,
  Boolean as BooleanType,
  Integer,
  Literal,
  Null,
  Number as NumberType,
  Object as ObjectType,
  Optional,
  Record as RecordType,
  type Static,
  String as StringType,
  Union,
} from "typebox";
import { Check, Errors } from "typebox/value";
import { BenchError, messageOf } from "../errors.ts";

/** Grows when a reader of the former form would misread a file. */
export const schemaVersion = 2;

const counts = RecordType(StringType(), NumberType());

const distribution = ObjectType({
  /** `manager`: from its histograms, thus interpolated in their buckets. `watch`: each pod as the watch shows it. `client`: each answer as the bench got it. */
  source: Union([Literal("manager"), Literal("watch"), Literal("client")]),
  count: Integer(),
  p50: NumberType(),
  p90: NumberType(),
  p99: NumberType(),
  /** Of a histogram: the upper bound of its highest bucket in use. */
  max: NumberType(),
});
export type Distribution = Static<typeof distribution>;

const clocks = ObjectType({
  /** Event received to reconcile start. */
  reaction: Optional(distribution),
  reconcile: Optional(distribution),
  /** Write sent to write acknowledged. */
  write: Optional(distribution),
  /** Admission review received to answered. */
  webhook: Optional(distribution),
  /** Of the manager's `--stage-metrics`: an object in its queue, requests for their place in the window, from sent to answered. */
  queueWait: Optional(distribution),
  windowWait: Optional(distribution),
  urgentWindowWait: Optional(distribution),
  answer: Optional(distribution),
  urgentAnswer: Optional(distribution),
  /** How late its event loop ran a timer. */
  eventLoop: Optional(distribution),
  /** Change of the spec to pod ready, over all pods. */
  ready: Optional(distribution),
  /** Of each pod that was out of service and came back: all its time out. */
  outOfService: Optional(distribution),
  /** Gate closed to new image. */
  gateToImage: Optional(distribution),
});
export type Clocks = Static<typeof clocks>;

const requests = ObjectType({
  /** `manager`: its own metrics. `server`: the API server's, without the bench's own requests. */
  source: Union([Literal("manager"), Literal("server"), Literal("none")]),
  total: NumberType(),
  perPod: NumberType(),
  /** By verb and resource, or by method where the manager knows no more. */
  by: counts,
  /** Of all clients, as the API server counts. */
  server: Optional(counts),
  /** Of the bench: kubelet reports, heartbeats, its own changes. */
  bench: counts,
});

const series = ObjectType({
  atMs: ArrayType(NumberType()),
  residentMb: ArrayType(Union([NumberType(), Null()])),
  queueDepth: ArrayType(Union([NumberType(), Null()])),
  pods: RecordType(StringType(), ArrayType(NumberType())),
  /** Ready pods at a revision that came with the phase; absent where none did. */
  readyAtNew: Optional(ArrayType(NumberType())),
  /** Pods of the workloads that are not in service, where a budget bounds them. */
  unavailable: Optional(ArrayType(NumberType())),
});
export type Series = Static<typeof series>;

const budget = ObjectType({
  maxUnavailable: Optional(NumberType()),
  /** Each has this budget for itself. */
  workloads: Integer(),
  mostUnavailable: NumberType(),
  /** Replicas that were not in service, summed over time: seconds. */
  podSecondsOut: NumberType(),
  violations: Integer(),
  examples: ArrayType(StringType()),
});

const phase = ObjectType({
  name: StringType(),
  pods: Integer(),
  /** Change until the last pod has arrived. */
  tookMs: NumberType(),
  /** Change until the watch shows the first pod touched; absent when none was. */
  firstTouchedMs: Optional(NumberType()),
  firstReadyMs: Optional(NumberType()),
  clocks,
  /** Arrival of each pod, sorted, thinned to 500. */
  readyMs: ArrayType(NumberType()),
  requests,
  /** Bytes that the manager read and wrote. */
  wire: Optional(ObjectType({ readBytes: NumberType(), writtenBytes: NumberType(), perPod: NumberType() })),
  cpuSeconds: Optional(NumberType()),
  cpuMsPerPod: Optional(NumberType()),
  /** Of the API server, whatever it did meanwhile; absent where it does not tell. */
  serverCpuMsPerPod: Optional(NumberType()),
  /** The API server's database at the end, MB; absent where the server does not tell. */
  storeMb: Optional(NumberType()),
  residentMb: Optional(ObjectType({ before: NumberType(), after: NumberType(), peak: NumberType() })),
  /** Of each, where several share the work; the figures above are of all together. */
  replicas: Optional(
    ArrayType(
      ObjectType({
        cpuSeconds: NumberType(),
        /** At the end: its own or the phase's. */
        residentMb: NumberType(),
        requests: Optional(NumberType()),
      }),
    ),
  ),
  podEventsPerPod: NumberType(),
  series,
  budget: Optional(budget),
  /** What else the scenario found out, in its own words. */
  facts: counts,
  /** Share of the time in which the bench's own process was busy, 0 to 1: near 1 it was the limit itself. */
  benchBusy: NumberType(),
  /** The same of the machine's processors. */
  machineBusy: Optional(NumberType()),
});
export type Phase = Static<typeof phase>;

const limit = ObjectType({
  /** Writes a second by kind of patch and requests in flight. */
  rates: ArrayType(
    ObjectType({
      patch: StringType(),
      inFlight: Integer(),
      perSecond: NumberType(),
      p50: NumberType(),
      p99: NumberType(),
    }),
  ),
  /** The highest of them. */
  writesPerSecond: NumberType(),
});
export type Limit = Static<typeof limit>;

const steadiness = ObjectType({
  name: StringType(),
  unit: StringType(),
  /** Of the samples after the warm-up. */
  first: NumberType(),
  last: NumberType(),
  /** Of the line through them, from the first to the last; with 95 % it is true to within `uncertain`. */
  growth: NumberType(),
  uncertain: NumberType(),
  anHour: NumberType(),
  allowed: NumberType(),
  isSteady: BooleanType(),
});
export type Steadiness = Static<typeof steadiness>;

const soak = ObjectType({
  minutes: NumberType(),
  rounds: Integer(),
  workloads: Integer(),
  podsMade: Integer(),
  /** One entry a round. */
  atMs: ArrayType(NumberType()),
  samples: RecordType(StringType(), ArrayType(NumberType())),
  levels: ArrayType(steadiness),
  /** What is not accounted for, in words. */
  faults: ArrayType(StringType()),
});
export type Soak = Static<typeof soak>;

const run = ObjectType({
  scenario: StringType(),
  /** Who was measured: `--label`, else `refit` or the process id. */
  label: StringType(),
  startedAt: StringType(),
  pods: Integer(),
  nodes: Integer(),
  seed: Integer(),
  settings: RecordType(StringType(), StringType()),
  server: ObjectType({ version: StringType(), sandbox: BooleanType() }),
  manager: ObjectType({ pid: Integer(), own: BooleanType(), metrics: BooleanType() }),
  phases: ArrayType(phase),
  limit: Optional(limit),
  soak: Optional(soak),
});
export type Run = Static<typeof run>;

const file = ObjectType({
  schema: Literal("refit-bench"),
  schemaVersion: Integer(),
  tool: ObjectType({ version: StringType(), commit: StringType() }),
  machine: ObjectType({ cpus: Integer(), memoryGb: NumberType(), system: StringType(), node: StringType() }),
  runs: ArrayType(run),
});
export type ResultFile = Static<typeof file>;

/** The file's contents. Throws BenchError that says what is wrong with it; `name` is only for the message. */
export function parseResult(text: string, name: string): ResultFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new BenchError(`${name} is no JSON: ${messageOf(error)}`);
  }
  if (typeof value !== "object" || value === null || !("schema" in value) || value.schema !== "refit-bench")
    throw new BenchError(`${name} is no result of a bench (its "schema" is not "refit-bench")`);
  const version = "schemaVersion" in value ? value.schemaVersion : undefined;
  if (version !== schemaVersion)
    throw new BenchError(`${name} has schema version ${String(version)}; this bench reads ${schemaVersion}`);
  if (!Check(file, value)) {
    const [first] = Errors(file, value);
    throw new BenchError(
      `${name} is not as a bench writes it: ${first?.instancePath ?? ""} ${first?.message ?? ""}`,
    );
  }
  return value;
}

/** Violations of all phases, and what a soak found: must be 0. */
export function violationsOf(runs: readonly Run[]): number {
  return runs.reduce((sum, run) => sum + budgetViolations(run) + soakFaults(run), 0);
}

function budgetViolations({ phases }: Run): number {
  return phases.reduce((sum, { budget }) => sum + (budget?.violations ?? 0), 0);
}

function soakFaults({ soak }: Run): number {
  return (soak?.faults.length ?? 0) + (soak?.levels.filter(({ isSteady }) => !isSteady).length ?? 0);
}
