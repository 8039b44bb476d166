import t from "tap";
import type { WorkloadSpread } from "../../../crds/index.ts";
import { Cache, type Client, isKubeError, KubeError, seededRandom } from "../../../kube/index.ts";
import { spreadOf } from "../../../testkit/controller/workload_spread_builder.ts";
import { testClock } from "../../../testkit/kube/fake_clock.ts";
import { conflictOnce, withFaults } from "../../../testkit/kube/fake_faults.ts";
import { fakeServer } from "../../../testkit/kube/fake_server.ts";
import { writersOf } from "../../plan/owners.ts";
import { workloadSpreadResource } from "../../plan/resources.ts";
import type { LedgerEntry } from "./ledger.ts";
import { Ledgers } from "./ledgers.ts";

const plural = "workloadspreads.apps.kruise.io";
const key = "default/web-spread";
const version = "versionIgnored";
const creation = (key: string): LedgerEntry => ({ type: "creation", version, key });
const deletion = (pod: string, subset: string): LedgerEntry => ({
  type: "deletion",
  version,
  pod,
  uid: `uid-${pod}`,
  subset,
});

function setup(spread: WorkloadSpread, wrap: (client: Client) => Client = (client) => client) {
  const server = fakeServer();
  server.put(plural, { ...spread });
  const clock = testClock();
  const replica = (seed: number) => {
    const spreads = new Cache<WorkloadSpread>(workloadSpreadResource.codec);
    spreads.upsert(spread);
    const client = wrap(server.client);
    const ledgers = new Ledgers({
      client,
      writesFor: writersOf(client),
      clock,
      random: seededRandom(seed),
      spreads,
      sizeOf: async () => 10,
    });
    return { spreads, ledgers };
  };
  /** Where the pod goes, once the clock has gone on for as long as that takes. */
  const placed = async (ledgers: Ledgers, entry: LedgerEntry): Promise<string | undefined> => {
    const place = ledgers.record(spread, entry);
    await clock.advance(30);
    return place;
  };
  const rows = () => Object(server.object(plural, key)).status?.versionedSubsetStatuses?.[version] ?? [];
  return { server, clock, replica, placed, rows };
}

t.test(
  "200 pods at once through four replicas: no subset gets more than its cap, and every pod a place",
  async (t) => {
    for (const seed of [1, 2, 3]) {
      const random = seededRandom(seed);
      const spread = spreadOf([30, 50, undefined]);
      const late = { before: () => clock.sleep(1 + 9 * random()) };
      const { server, clock, replica, rows } = setup(spread, (client) =>
        withFaults(client, { patch: () => late, get: () => late }),
      );
      const replicas = [1, 2, 3, 4].map((number) => replica(number * seed));
      const places = new Map<string, string | undefined>();
      // A creation that is refused is tried again by its workload, under the same name.
      const create = async (pod: string): Promise<void> => {
        for (;;) {
          await clock.sleep(50 * random());
          const chosen = replicas[Math.floor(random() * replicas.length)]?.ledgers;
          try {
            places.set(pod, await chosen?.record(spread, creation(pod)));
            return;
          } catch (error) {
            if (!isKubeError(error, "Conflict")) throw error;
          }
        }
      };
      let over = false;
      const all = Promise.all(Array.from({ length: 200 }, (_, number) => create(`pod-${number}`))).then(
        () => {
          over = true;
        },
      );
      while (!over) await clock.advance(5);
      await all;
      const inSubset = (name: string) => [...places.values()].filter((subset) => subset === name).length;
      t.strictSame(["a", "b", "c"].map(inSubset), [30, 50, 120]);
      t.strictSame(
        rows().map((row: { creatingPods?: object }) => Object.keys(row.creatingPods ?? {}).length),
        [30, 50, 0],
      );
      t.ok(server.patches.length <= 80, `${server.patches.length} writes for 80 places`);
    }
  },
);

t.test("pods that arrive during a write share the next one", async (t) => {
  const spread = spreadOf([50, 50]);
  const { server, clock, replica } = setup(spread, (client) =>
    withFaults(client, { patch: () => ({ before: () => clock.sleep(5) }) }),
  );
  const { ledgers } = replica(1);
  const asked = Array.from({ length: 100 }, (_, number) => ledgers.record(spread, creation(`p${number}`)));
  await clock.advance(100);
  const places = await Promise.all(asked);
  t.equal(places.filter((place) => place === "a").length, 50);
  t.equal(places.filter((place) => place === "b").length, 50);
  t.equal(server.patches.length, 1);
});

t.test("pods that follow each other closely share a write, and none waits for long", async (t) => {
  const spread = spreadOf([100]);
  const { server, clock, replica } = setup(spread);
  const { ledgers } = replica(1);
  const places: Promise<string | undefined>[] = [];
  for (let number = 0; number < 30; number++) {
    places.push(ledgers.record(spread, creation(`p${number}`)));
    await clock.advance(3);
    if (number === 9) t.equal(server.patches.length, 1, "after 25 ms it is written, whatever comes");
  }
  await clock.advance(30);
  t.strictSame(new Set(await Promise.all(places)), new Set(["a"]));
  t.ok(server.patches.length <= 5, `${server.patches.length} writes for 30 pods in 90 ms`);
});

t.test("a write names what is new, however many pods are on their way", async (t) => {
  const onTheWay = Array.from({ length: 1000 }, (_, number) => [`old-${number}`, "2026-01-01T00:00:00Z"]);
  const creatingPods = Object.fromEntries(onTheWay);
  const row = { name: "a", replicas: 0, missingReplicas: 4000, creatingPods };
  const spread = spreadOf([5000, undefined], { status: { versionedSubsetStatuses: { [version]: [row] } } });
  const { server, replica, placed } = setup(spread);
  t.equal(await placed(replica(1).ledgers, creation("p")), "a");
  const operations = Object(server.patches[0]?.patch.body).map(
    ({ op, path }: Record<string, string>) => `${op} ${path}`,
  );
  t.strictSame(operations, [
    "test /metadata/resourceVersion",
    `replace /status/versionedSubsetStatuses/${version}/0/missingReplicas`,
    `add /status/versionedSubsetStatuses/${version}/0/creatingPods/p`,
    `add /status/versionedSubsetStatuses/${version}/1`,
  ]);
});

t.test("what another replica wrote counts, also where the own cache shows a full subset", async (t) => {
  const spread = spreadOf([1, undefined]);
  const { server, replica, placed, rows } = setup(spread);
  const [one, two] = [replica(1), replica(2)];
  t.equal(await placed(one.ledgers, creation("p")), "a");
  t.equal(await placed(one.ledgers, creation("q")), "b");
  t.equal(await placed(two.ledgers, deletion("other", "b")), "b");
  t.equal(await placed(two.ledgers, creation("r")), "b");
  // The pod was seen since.
  const seen = [{ name: "a", replicas: 1, missingReplicas: 0 }];
  server.put(plural, { ...spread, status: { versionedSubsetStatuses: { [version]: seen } } });
  t.equal(await placed(two.ledgers, deletion("p", "a")), "a");
  t.equal(await placed(one.ledgers, creation("s")), "a", "the place that the other replica freed");
  t.match(rows()[0], { missingReplicas: 0, creatingPods: { s: String }, deletingPods: { p: String } });
});

t.test("conflicts are run again, four attempts in all", async (t) => {
  const spread = spreadOf([1]);
  const fault = conflictOnce();
  const once = setup(spread, (client) => withFaults(client, { patch: fault }));
  const place = once.replica(1).ledgers.record(spread, creation("p"));
  await once.clock.advance(30);
  t.equal(await place, "a");
  let asked = 0;
  const always = setup(spread, (client) =>
    withFaults(client, {
      patch: () => ({
        before: () => {
          asked++;
          throw new KubeError("Conflict", "modified", { status: 409 });
        },
      }),
    }),
  );
  const refusal = always.replica(1).ledgers.record(spread, creation("p"));
  const rejected = t.rejects(refusal, { code: "Conflict" });
  await always.clock.advance(1000);
  await rejected;
  t.equal(asked, 4);
});

t.test("a deletion is recorded again after a conflict only while its pod is there", async (t) => {
  const full = [{ name: "a", replicas: 2, missingReplicas: 0 }];
  const spread = spreadOf([2], { status: { versionedSubsetStatuses: { [version]: full } } });
  const { server, clock, replica, rows } = setup(spread, (client) =>
    withFaults(client, { patch: conflictOnce() }),
  );
  const podNamed = (name: string, uid: string) =>
    server.put("pods", { apiVersion: "v1", kind: "Pod", metadata: { namespace: "default", name, uid } });
  podNamed("stays", "uid-stays");
  podNamed("made-again", "another");
  const { ledgers } = replica(1);
  const pods = ["gone", "stays", "made-again"];
  const asked = pods.map((pod) => ledgers.record(spread, deletion(pod, "a")));
  await clock.advance(100);
  t.strictSame(await Promise.all(asked), [undefined, "a", undefined]);
  t.match(rows(), [{ missingReplicas: 1, deletingPods: { stays: String } }]);
  t.strictSame(Object.keys(rows()[0].deletingPods), ["stays"]);
});

t.test("an object that is gone places nobody, and an error is everybody's of its batch", async (t) => {
  const spread = spreadOf([1]);
  const gone = setup(spread);
  gone.server.remove(plural, key);
  t.equal(await gone.placed(gone.replica(1).ledgers, creation("p")), undefined);
  const broken = setup(spread, (client) =>
    withFaults(client, {
      patch: () => ({
        before: () => {
          throw new KubeError("ServerError", "no", { status: 500 });
        },
      }),
    }),
  );
  const { ledgers } = broken.replica(1);
  const asked = Promise.allSettled(["p", "q", "r"].map((pod) => ledgers.record(spread, creation(pod))));
  await broken.clock.advance(30);
  const answers = await asked;
  t.strictSame(
    answers.map(({ status }) => status),
    ["rejected", "rejected", "rejected"],
  );
});
