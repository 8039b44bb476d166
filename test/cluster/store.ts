/** etcd, of one member or of several, on loopback. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { request } from "undici";
import { portAt } from "../../testkit/cli/free_ports.ts";
import { isRecord } from "./api.ts";
import { Patience } from "./patience.ts";
import type { Service } from "./processes.ts";

interface Member {
  readonly name: string;
  readonly url: string;
  readonly peers: string;
  service: Service | undefined;
}

export class Store {
  readonly #folder: string;
  readonly #members: readonly Member[];
  readonly #service: (name: string, command: string, flags: readonly string[]) => Service;

  /** `ports`: two for each member. `service` starts a program that ends with the cluster. */
  constructor(
    folder: string,
    ports: readonly number[],
    service: (name: string, command: string, flags: readonly string[]) => Service,
  ) {
    this.#folder = folder;
    this.#service = service;
    this.#members = Array.from({ length: ports.length / 2 }, (_, index) => ({
      name: index === 0 ? "etcd" : `etcd-${index + 1}`,
      url: `http://127.0.0.1:${portAt(ports, 2 * index)}`,
      peers: `http://127.0.0.1:${portAt(ports, 2 * index + 1)}`,
      service: undefined,
    }));
  }

  get urls(): readonly string[] {
    return this.#members.map(({ url }) => url);
  }

  start(): void {
    for (const member of this.#members) this.#startMember(member);
  }

  /** By its gateway, which takes JSON: keys and values are base64, and a range ends before its second key. */
  async below(prefix: string): Promise<ReadonlyMap<string, string>> {
    const end = Buffer.from(prefix);
    end.writeUInt8(end.readUInt8(end.length - 1) + 1, end.length - 1);
    const range = { key: Buffer.from(prefix).toString("base64"), range_end: end.toString("base64") };
    const body = await ask(this.urls[0] ?? "", "/v3/kv/range", range);
    const pairs = Array.isArray(body["kvs"]) ? body["kvs"].filter(isRecord) : [];
    const text = (value: unknown) => Buffer.from(String(value), "base64").toString("utf8");
    return new Map(pairs.map(({ key, value }) => [text(key), text(value)]));
  }

  async killLeader(): Promise<() => void> {
    const leader = await this.#leader();
    leader.service?.kill("SIGKILL");
    await leader.service?.stop();
    return () => this.#startMember(leader);
  }

  async #leader(): Promise<Member> {
    const patience = new Patience(30_000);
    while (!patience.isOver) {
      const leads = await Promise.all(this.#members.map(({ url }) => isLeader(url).catch(() => false)));
      const leader = this.#members.find((_, index) => leads[index]);
      if (leader !== undefined) return leader;
      await sleep(200);
    }
    throw new Error(`no member of etcd leads after ${patience}`);
  }

  #startMember(member: Member): void {
    const { name, url, peers } = member;
    member.service = this.#service(name, "etcd", [
      `--name=${name}`,
      `--data-dir=${join(this.#folder, name)}`,
      `--listen-client-urls=${url}`,
      `--advertise-client-urls=${url}`,
      `--listen-peer-urls=${peers}`,
      `--initial-advertise-peer-urls=${peers}`,
      `--initial-cluster=${this.#members.map((each) => `${each.name}=${each.peers}`).join(",")}`,
      // A machine that is busy is no reason for an election.
      "--heartbeat-interval=300",
      "--election-timeout=3000",
      "--unsafe-no-fsync",
    ]);
  }
}

async function isLeader(url: string): Promise<boolean> {
  const status = await ask(url, "/v3/maintenance/status", {});
  return isRecord(status["header"]) && status["header"]["member_id"] === status["leader"];
}

async function ask(url: string, path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await request(url + path, { method: "POST", body: JSON.stringify(body) });
  const found: unknown = await answer.body.json();
  if (answer.statusCode !== 200 || !isRecord(found))
    throw new Error(`etcd answered ${answer.statusCode} for ${path}: ${JSON.stringify(found)}`);
  return found;
}
