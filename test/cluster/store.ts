/** etcd, of one member or of several, on loopback. */
import { execFile } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { request } from "undici";
import { portAt } from "../../testkit/cli/free_ports.ts";
import { isRecord } from "./api.ts";
import { Patience } from "./patience.ts";
import type { Service } from "./processes.ts";

const run = promisify(execFile);

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

  /** `diskMb`: each member has a disk of its own, of so many MB; else they keep their files in the folder. */
  async start(diskMb: number | undefined): Promise<void> {
    if (diskMb !== undefined) for (const member of this.#members) await this.#mount(member, diskMb);
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

  /**
   * Fills the disk of the member that leads, which must be its own. Resolves once it has ended, as etcd does when it cannot write, to
   * what frees the disk and starts it again.
   */
  async fillLeaderDisk(): Promise<() => void> {
    const leader = await this.#leader();
    const filler = join(this.#diskOf(leader), "filler");
    // It ends when nothing more can be written, which is an error.
    await run("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"]).catch(() => undefined);
    const patience = new Patience(30_000);
    while (leader.service?.exitCode() === undefined) {
      if (patience.isOver) throw new Error(`${leader.name} still runs ${patience} after its disk was filled`);
      await sleep(200);
    }
    return () => {
      rmSync(filler);
      this.#startMember(leader);
    };
  }

  async #mount(member: Member, mb: number): Promise<void> {
    const disk = this.#diskOf(member);
    mkdirSync(disk, { mode: 0o700 });
    await run("mount", ["-t", "tmpfs", "-o", `size=${mb}m,mode=700`, "tmpfs", disk]);
  }

  #diskOf({ name }: Member): string {
    return join(this.#folder, name);
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
      `--data-dir=${join(this.#diskOf(member), "data")}`,
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
