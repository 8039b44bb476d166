/** Network namespaces of replicas: each is joined with this machine by one link, and reaches nothing else. */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { onExit } from "signal-exit";
import { apiServiceAddress } from "../cluster/api_address.ts";

const run = promisify(execFile);

/** Inside of a namespace. */
const link = "eth0";

export class NetworkNamespace {
  readonly name: string;
  /** Of who is in it. This machine is `apiServiceAddress` there, for which the server's certificate is valid. */
  readonly address: string;
  readonly #outer: string;
  readonly #forget: () => void;

  private constructor(ordinal: number) {
    this.name = `refit-chaos-${process.pid}-${ordinal}`;
    this.#outer = `rfc${process.pid}x${ordinal}`;
    this.address = `10.${200 + (process.pid % 50)}.${ordinal}.2`;
    this.#forget = onExit(() => {
      spawnSync("ip", ["netns", "delete", this.name]);
      spawnSync("ip", ["link", "delete", this.#outer]);
    });
  }

  /** `ordinal` tells those of one process apart, from 0 on. */
  static async make(ordinal: number): Promise<NetworkNamespace> {
    const made = new NetworkNamespace(ordinal);
    try {
      await made.#make();
    } catch (error) {
      await made.remove();
      throw error;
    }
    return made;
  }

  async #make(): Promise<void> {
    const { name, address } = this;
    await run("ip", ["netns", "add", name]);
    await run("ip", ["link", "add", this.#outer, "type", "veth", "peer", "name", link, "netns", name]);
    await run("ip", ["address", "add", apiServiceAddress, "peer", address, "dev", this.#outer]);
    await run("ip", ["link", "set", this.#outer, "up"]);
    const inside = (...words: string[]) => run("ip", ["-n", name, ...words]);
    await inside("address", "add", address, "peer", apiServiceAddress, "dev", link);
    await inside("link", "set", link, "up");
    await inside("link", "set", "lo", "up");
  }

  /** The words that run a command in it. */
  command(...words: string[]): [string, ...string[]] {
    return ["ip", "netns", "exec", this.name, ...words];
  }

  /** Nothing arrives any more, in either direction, and nobody is told. */
  async cut(): Promise<void> {
    await this.#rules("-j", "DROP");
  }

  /** This share of the packets is lost, in either direction. */
  async lose(share: number): Promise<void> {
    await this.#rules("-m", "statistic", "--mode", "random", "--probability", String(share), "-j", "DROP");
  }

  async mend(): Promise<void> {
    await this.#iptables("-F");
  }

  /** Whoever is in it keeps it alive until it ends. */
  async remove(): Promise<void> {
    await run("ip", ["netns", "delete", this.name]).catch(() => undefined);
    await run("ip", ["link", "delete", this.#outer]).catch(() => undefined);
    this.#forget();
  }

  async #rules(...rule: string[]): Promise<void> {
    await this.#iptables("-A", "INPUT", "-i", link, ...rule);
    await this.#iptables("-A", "OUTPUT", "-o", link, ...rule);
  }

  async #iptables(...words: string[]): Promise<void> {
    const [program, ...rest] = this.command("iptables", ...words);
    await run(program, rest);
  }
}
