/** Small worlds of one ResourceDistribution. Spec: resourcedistribution 4 and 9. */
import { ResourceDistributionReconciler } from "../../controller/kinds/resource_distribution/reconcile.ts";
import type { ResourceDistribution, ResourceDistributionSpec } from "../../crds/index.ts";
import type { JsonObject, Labels } from "../../kube/core/index.ts";
import {
  NAME,
  type Server,
  withCopy,
  withDistribution,
  withNamespace,
  withoutCopy,
} from "./distribution_server.ts";
import type { DistributionScenario, DistributionStage } from "./distribution_world.ts";

type Targets = ResourceDistributionSpec["targets"];

const all: Targets = { allNamespaces: true };
const group: Labels = { group: "test" };
const selected: Targets = { namespaceSelector: { matchLabels: { ...group } } };
const included = (...names: string[]): Targets => ({
  includedNamespaces: { list: names.map((name) => ({ name })) },
});

export function distributionScenarios(namespaces: number): DistributionScenario[] {
  const names = Array.from({ length: namespaces }, (_, at) => `ns-${at + 1}`);
  const [first = "", second = ""] = names;
  const few = names.slice(0, -1);
  const scenario = (
    name: string,
    server: Server,
    ...stages: readonly (readonly [string, DistributionStage["change"]])[]
  ): DistributionScenario => ({
    name: `ResourceDistribution ${name}`,
    server,
    stages: stages.map(([stage, change]) => ({ name: stage, change })),
    make: (deps) => new ResourceDistributionReconciler(deps),
  });
  const made = (targets: Targets, of = names): Server =>
    of.reduce((server, name) => withNamespace(server, name, { labels: group }), asked(targets));
  const held = (targets: Targets, of = names): Server =>
    of.reduce((server, name) => withCopy(server, name, copyFor(server)), made(targets, of));
  const label = (name: string, labels: Labels) => (server: Server) => withNamespace(server, name, { labels });
  return [
    scenario("as it was made", made(all)),
    scenario("with other data", held(all), ["other data", (server) => changed(server, { data: { b: "2" } })]),
    scenario(
      "with other data, undone",
      held(all),
      ["other data", (server) => changed(server, { data: { a: "2" } })],
      ["undone", (server) => changed(server, { data: { a: "1" } })],
    ),
    scenario("with a namespace that comes", made(selected, few), [
      "a namespace",
      label(names.at(-1) ?? "", group),
    ]),
    scenario(
      "with a listed namespace that goes, and comes again",
      held(included(...names)),
      ["the namespace is deleted", (server) => withNamespace(server, first, { isGoing: true })],
      [
        "it is there again",
        (server) => (server.namespaces.has(first) ? server : withNamespace(server, first, {})),
      ],
    ),
    scenario("with a selected namespace that goes", held(selected), [
      "the namespace is deleted",
      (server) => withNamespace(server, first, { labels: group, isGoing: true }),
    ]),
    scenario(
      "with a namespace that is no target for a while",
      held(selected),
      ["no target", label(first, {})],
      ["a target", label(first, group)],
    ),
    scenario(
      "with fewer targets, then others",
      held(included(...names)),
      ["fewer", (server) => changed(server, { targets: included(second) })],
      ["others", (server) => changed(server, { targets: included(first) })],
    ),
    scenario(
      "with a copy that somebody changes",
      held(all),
      ["edited", (server) => edited(server, first, { data: { c: "3" } })],
      ["other data", (server) => changed(server, { data: { b: "2" } })],
    ),
    scenario(
      "with a copy that somebody deletes",
      held(all),
      ["deleted", (server) => withoutCopy(server, first)],
      ["other data", (server) => changed(server, { data: { b: "2" } })],
    ),
    scenario("with an object in its way, which goes", withCopy(made(all), first, { data: {} }), [
      "it goes",
      (server) => withoutCopy(server, first),
    ]),
    scenario("with an object that comes in its way", made(all), [
      "an object",
      (server) => withCopy(withoutCopy(server, first), first, { data: {} }),
    ]),
    scenario(
      "with a copy that is taken over",
      held(all),
      ["taken over", (server) => edited(server, first, { metadata: { ownerReferences: [] } })],
      ["other data", (server) => changed(server, { data: { b: "2" } })],
    ),
    scenario("beside another one", made(all), [
      "the other one is faster",
      (server) => (server.copies.has(first) ? server : withCopy(server, first, ownedBy("e", "e-1"))),
    ]),
    scenario("deleted", held(all), ["deleted", (server) => withDistribution(server, undefined)]),
    scenario("deleted while it is made", made(all), [
      "deleted",
      (server) => withDistribution(server, undefined),
    ]),
    scenario("deleted after its copies", held(all), [
      "deleted",
      ({ distribution, ...server }) =>
        withDistribution({ distribution, ...server }, distribution && going(distribution)),
    ]),
    scenario(
      "deleted, and made again",
      held(all),
      ["deleted", (server) => withDistribution(server, undefined)],
      [
        "made again",
        (server) =>
          withDistribution(server, {
            ...distributionOf(all),
            metadata: { name: "d", uid: "d-2", generation: 1 },
          }),
      ],
    ),
    scenario("in a namespace that is full for a while", { ...made(all), full: [first] }, [
      "there is room",
      (server) => ({ ...server, full: [] }),
    ]),
    scenario("that may not list for a while", { ...made(included(...names)), mayList: false }, [
      "it may",
      (server) => ({ ...server, mayList: true }),
    ]),
  ];
}

function distributionOf(targets: Targets): ResourceDistribution {
  const resource = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: NAME }, data: { a: "1" } };
  return { metadata: { name: "d", uid: "d-1", generation: 1 }, spec: { resource, targets } };
}

function asked(targets: Targets): Server {
  const nothing: Server = {
    distribution: undefined,
    namespaces: new Map(),
    copies: new Map(),
    full: [],
    mayList: true,
    version: 0,
  };
  return withDistribution(nothing, distributionOf(targets));
}

/** Somebody asks for something else. */
function changed(
  server: Server,
  { data, targets }: { readonly data?: Labels; readonly targets?: Targets },
): Server {
  const { distribution } = server;
  if (distribution === undefined) return server;
  const { metadata, spec } = distribution;
  const resource = data === undefined ? spec.resource : { ...spec.resource, data };
  return withDistribution(server, {
    ...distribution,
    metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
    spec: { resource, targets: targets ?? spec.targets },
  });
}

function going({ metadata, ...rest }: ResourceDistribution): ResourceDistribution {
  const generation = (metadata.generation ?? 0) + 1;
  return { ...rest, metadata: { ...metadata, generation, deletionTimestamp: "2026-01-01T00:00:00Z" } };
}

function ownedBy(name: string, uid: string): JsonObject {
  const owner = {
    apiVersion: "apps.kruise.io/v1beta1",
    kind: "ResourceDistribution",
    name,
    uid,
    controller: true,
  };
  return { metadata: { ownerReferences: [owner] }, data: { a: "1" } };
}

function copyFor({ distribution }: Server): JsonObject {
  return ownedBy("d", distribution?.metadata.uid ?? "");
}

/** What somebody does to a copy, if it is there. */
function edited(server: Server, name: string, change: JsonObject): Server {
  const copy = server.copies.get(name);
  if (copy === undefined) return server;
  const metadata = { ...Object(copy["metadata"]), ...Object(change["metadata"]) };
  return withCopy(server, name, { ...copy, ...change, metadata });
}
