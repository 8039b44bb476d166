/** Names, stages and defaults of the gates are part of the API: a flag of the reference means the same here. Spec: platform 2.3. */
import { readFileSync } from "node:fs";
import fc from "fast-check";
import t from "tap";
import { isJsonObject } from "../../kube/core/index.ts";
import { featureGateDefaults, featureGateNames, parseFeatureGates } from "./feature_gates.ts";

const file = new URL("testdata/feature_gates.json", import.meta.url);
const declared: unknown = JSON.parse(readFileSync(file, "utf8"));
/** What release 1.9 of the API declares. */
const reference = new Map(isJsonObject(declared) ? Object.entries(declared) : []);

t.test("every gate has the reference's stage and default, and no gate is missing", (t) => {
  t.equal(reference.size, 36);
  for (const { name, ...gate } of featureGateDefaults) t.strictSame(gate, reference.get(name), name);
  t.strictSame([...featureGateNames].sort(), [...reference.keys()].sort());
  t.end();
});

/** Gates that no other one turns on or off, and that turn off no other one. */
const free = featureGateDefaults.filter(
  ({ name }) =>
    !/^(PodWebhook|KruiseDaemon|ImagePullJobGate|PreDownload.*|ResourcesDeletionProtection)$/.test(name) &&
    name !== "DeletionProtectionForCRDCascadingGate",
);
const words = { alpha: "AllAlpha", beta: "AllBeta" } as const;

t.test("a group sets what is of its stage; a gate's own name wins, wherever it stands", (t) => {
  const gate = fc.constantFrom(...free);
  fc.assert(
    fc.property(gate, gate, fc.boolean(), fc.boolean(), fc.boolean(), (one, other, group, own, ownFirst) => {
      const parts = [`${words[one.stage]}=${group}`, `${one.name}=${own}`];
      // With these off others are off whatever the groups say.
      const text = [
        ...(ownFirst ? parts.toReversed() : parts),
        "PodWebhook=true",
        "KruiseDaemon=true",
      ].join();
      const gates = parseFeatureGates(text);
      t.equal(gates[one.name], own, `${one.name} of ${text}`);
      if (other !== one)
        t.equal(
          gates[other.name],
          other.stage === one.stage ? group : other.enabled,
          `${other.name} of ${text}`,
        );
    }),
    { numRuns: 500, seed: 23 },
  );
  t.end();
});

t.test("what a gate that is off takes with it stays off, whatever was asked for", (t) => {
  const taken = {
    PodWebhook: "WorkloadSpread",
    KruiseDaemon: "PodProbeMarkerGate",
    ResourcesDeletionProtection: "DeletionProtectionForCRDCascadingGate",
  } as const;
  for (const [cause, effect] of Object.entries(taken)) {
    const wanted = `AllAlpha=true,AllBeta=true,${effect}=true`;
    t.equal(parseFeatureGates(wanted)[effect], true, effect);
    t.equal(parseFeatureGates(`${wanted},${cause}=false`)[effect], false, `${effect} without ${cause}`);
  }
  t.end();
});
