/** What the suites read of an object, by the field's own words. */
import assert from "node:assert/strict";
import { type Condition, type ContainerStatus, type Item, isRecord } from "../cluster/api.ts";

export function nameOf({ metadata }: Item): string {
  return metadata.name;
}

export function uidOf({ metadata }: Item): string {
  return metadata.uid;
}

export function nodeOf(pod: Item): string | undefined {
  return pod.spec?.nodeName;
}

/** What an update in place leaves as it is. */
export function identityOf({ metadata, spec, status }: Item): (string | undefined)[] {
  return [metadata.name, metadata.uid, spec?.nodeName, status?.podIP];
}

export function phaseOf(item: Item | undefined): string | undefined {
  return item?.status?.phase;
}

/** Of the first container, as its pod asks for it. */
export function imageOf(pod: Item | undefined): string | undefined {
  return pod?.spec?.containers?.[0]?.image;
}

/** `1.20` of `nginx:1.20`. */
export function tagOf(pod: Item | undefined): string | undefined {
  return imageOf(pod)?.split(":")[1];
}

/** Of the first container. */
export function restartsOf(pod: Item | undefined): number | undefined {
  return pod?.status?.containerStatuses?.[0]?.restartCount;
}

export function statusOf(pod: Item | undefined, container: string): ContainerStatus | undefined {
  return pod?.status?.containerStatuses?.find(({ name }) => name === container);
}

/** When the running container was started, milliseconds since the Unix epoch. */
export function startOf(pod: Item | undefined, container: string): number {
  return Date.parse(statusOf(pod, container)?.state?.running?.startedAt ?? "");
}

export function conditionOf(item: Item | undefined, type: string): Condition | undefined {
  return item?.status?.conditions?.find((condition) => condition.type === type);
}

/** What the kubelet says, whatever else holds the pod; `isReady` of trail.ts looks at that, too. */
export function reportsReady(item: Item | undefined): boolean {
  return conditionOf(item, "Ready")?.status === "True";
}

export function isGoing({ metadata }: Item): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Whether an owner of this kind and name controls it. */
export function isControlledBy(item: Item, kind: string, name: string): boolean {
  return (item.metadata.ownerReferences ?? []).some(
    (owner) => owner.controller === true && owner.kind === kind && owner.name === name,
  );
}

export function byName(left: Item, right: Item): number {
  return left.metadata.name < right.metadata.name ? -1 : 1;
}

/** UIDs of those that own it, and control it or not. */
export function ownerUidsOf({ metadata }: Item): string[] {
  return (metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

/** The records of a list that the types do not know. */
export function records(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The record under a key of what the types do not know. */
export function member(value: unknown, key: string): Record<string, unknown> | undefined {
  const found = isRecord(value) ? value[key] : undefined;
  return isRecord(found) ? found : undefined;
}

/** The first of what cannot be empty where the suite goes on. */
export function firstOf(items: readonly Item[]): Item {
  const [first] = items;
  assert.ok(first !== undefined, "there is none");
  return first;
}

/** The only one. */
export function onlyOf(items: readonly Item[]): Item {
  assert.equal(items.length, 1, `one is expected, there are ${items.map(nameOf).join() || "none"}`);
  return firstOf(items);
}

/** Fails where one of `before` is still among them. */
export function assertAllNew(items: readonly Item[], before: readonly Item[]): void {
  const old = items.filter((item) => before.some(({ metadata }) => metadata.uid === uidOf(item)));
  assert.deepEqual(old.map(nameOf), [], "were there before");
}

/** Fails unless the text has every one of these words. */
export function assertSays(text: string, ...words: readonly (string | RegExp)[]): void {
  for (const word of words) {
    const isThere = typeof word === "string" ? text.includes(word) : word.test(text);
    assert.ok(isThere, `${word} is not in: ${text}`);
  }
}
