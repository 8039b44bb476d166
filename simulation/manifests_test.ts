/** A kind whose objects are refused takes part in no story, and nobody would notice. */
import t from "tap";
import { kinds } from "../crds/index.ts";
import { seededRandom } from "../kube/index.ts";
import { Chance } from "./chance.ts";
import { type Answer, SimulatedCluster } from "./cluster.ts";
import { companionOf, makers } from "./manifests.ts";

/** Whose objects controllers and acts of other names make. */
const madeByOthers = ["ContainerRecreateRequest", "NodeImage", "NodePodProbe"];
const rounds = 6;

t.test("what people apply is admitted, changes too, and all kinds take part", async (t) => {
  const cluster = new SimulatedCluster({
    seed: 1,
    replicas: 1,
    shards: 1,
    nodes: 2,
    namespaces: ["blue"],
    log: () => undefined,
    refused: () => undefined,
    unexpected: (_, where) => t.fail(where),
  });
  const { clock } = cluster;
  await clock.pass(5_000);
  const chance = new Chance(seededRandom(1));
  const ask = async (method: string, path: string, body: object): Promise<Answer> => {
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const answers: Answer[] = [];
    cluster.ask(method, path, body, type).then((answer) => answers.push(answer));
    await clock.pass(30_000, () => answers.length > 0);
    return answers[0] ?? { status: 0, body: undefined };
  };
  const applied = new Set<string>();
  for (const [index, make] of [...new Set(makers)].entries()) {
    for (let round = 0; round < rounds; round++) {
      const own = make(chance, "blue", `w${index}-${round}`);
      for (const each of [own, companionOf(chance, own)]) {
        if (each === undefined) continue;
        const { kind } = each.manifest;
        applied.add(kind);
        const place = each.path.slice(0, each.path.lastIndexOf("/"));
        const created = await ask("POST", place, each.manifest);
        t.equal(created.status, 201, `${kind}: ${JSON.stringify(created.body).slice(0, 300)}`);
        const changed = await ask("PATCH", each.path, each.change(chance));
        t.equal(changed.status, 200, `${kind}: ${JSON.stringify(changed.body).slice(0, 300)}`);
        await ask("DELETE", each.path, { propagationPolicy: "Background" });
      }
    }
  }
  t.same([...applied, ...madeByOthers].sort(), kinds.map(({ kind }) => kind).sort());
  await cluster.stop();
});
