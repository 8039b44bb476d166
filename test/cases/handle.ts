/** One object that a suite works with, by its name: reads, writes and waits in the world's version. */
import assert from "node:assert/strict";
import type { Condition, Item, PatchType, ResourceName, Status } from "../cluster/api.ts";
import { conditionOf } from "./items.ts";
import type { ApiVersion } from "./step_result.ts";
import type { EventSeen, ExpectedEvent, WaitOptions, World } from "./world.ts";

export class Handle {
  readonly world: World;
  readonly kind: string;
  readonly name: string;
  readonly resource: ResourceName;
  /** How long its printed row may take, by default. */
  protected readonly rowLimitMs: number = 60_000;

  /** Where its events are; absent: in the world's namespace. */
  protected readonly eventNamespace: string | undefined = undefined;

  constructor(world: World, kind: string, name: string, resource = resourceOf(kind, world.version)) {
    this.world = world;
    this.kind = kind;
    this.name = name;
    this.resource = resource;
  }

  /** Creates it, or merges this onto the one that exists. */
  apply(spec: object, metadata: object = {}): Promise<Item> {
    const [, version = "", ...group] = this.resource.split(".");
    const apiVersion = group.length === 0 ? version : `${group.join(".")}/${version}`;
    return this.world.apply({
      apiVersion,
      kind: this.kind,
      metadata: { name: this.name, ...metadata },
      spec,
    });
  }

  get(version?: ApiVersion): Promise<Item> {
    return this.world.object(this.#in(version), this.name);
  }

  find(): Promise<Item | undefined> {
    return this.world.find(this.resource, this.name);
  }

  async status(): Promise<Status> {
    return (await this.get()).status ?? {};
  }

  async condition(type: string): Promise<Condition | undefined> {
    return conditionOf(await this.get(), type);
  }

  patch(type: PatchType, body: unknown, version?: ApiVersion): Promise<Item> {
    return this.world.patch(this.#in(version), this.name, type, body);
  }

  merge(body: object, version?: ApiVersion): Promise<Item> {
    return this.patch("merge", body, version);
  }

  mergeSpec(spec: object, version?: ApiVersion): Promise<Item> {
    return this.merge({ spec }, version);
  }

  remove(options?: object): Promise<void> {
    return this.world.remove(this.resource, this.name, options);
  }

  /** Its printed row without name and age. */
  async row(): Promise<string> {
    return (await this.world.row(this.resource, this.name)).slice(this.name.length + 1);
  }

  /** The names of the columns of its kind. */
  async columns(): Promise<string> {
    return (await this.world.printed(this.resource)).header.join(" ");
  }

  /** Waits until the row is about the latest generation, and this one. */
  untilRow(row: string, options: WaitOptions = {}): Promise<void> {
    const limits = { timeoutMs: this.rowLimitMs, ...options };
    return this.world.until(`${this.name} ${row}`, () => this.assertRow(row), limits);
  }

  /** Also where no status tells which generation it is about. */
  untilPrinted(row: string, options: WaitOptions = {}): Promise<void> {
    const limits = { timeoutMs: this.rowLimitMs, ...options };
    return this.world.until(`${this.name} ${row}`, async () => assert.equal(await this.row(), row), limits);
  }

  async assertRow(row: string): Promise<void> {
    await this.world.assertObserved(this.resource, this.name);
    assert.equal(await this.row(), row);
  }

  staysAt(row: string, ofCaseMs?: number): Promise<void> {
    return this.world.stays(async () => assert.equal(await this.row(), row), ofCaseMs);
  }

  /** Whoever watches knows the object then. */
  untilObserved(): Promise<void> {
    return this.world.once(`${this.name} is known`, () =>
      this.world.assertObserved(this.resource, this.name),
    );
  }

  untilGone(options: WaitOptions = {}): Promise<void> {
    return this.world.until(`${this.name} is gone`, () => this.assertGone(), options);
  }

  async assertGone(): Promise<void> {
    assert.equal(await this.find(), undefined, `${this.resource} ${this.name}`);
  }

  events(reason?: string): Promise<EventSeen[]> {
    return this.world.events(this.kind, this.name, reason, this.eventNamespace);
  }

  untilEvent(reason: string, expected: ExpectedEvent): Promise<void> {
    return this.world.untilEvent(this.kind, this.name, reason, expected, this.eventNamespace);
  }

  #in(version: ApiVersion | undefined): ResourceName {
    return version === undefined ? this.resource : resourceOf(this.kind, version);
  }
}

/** Of a kind of the project's main group. */
export function resourceOf(kind: string, version: ApiVersion): ResourceName {
  return `${kind.toLowerCase()}s.${version}.apps.kruise.io`;
}
