/** Addresses of simulated nodes and pods. Each node has a block of 1,024 pod addresses out of 10.0.0.0/8. */

const podsOfBlock = 1_024;
const firstPodBlock = (10 << 24) + (1 << 16);
const firstHost = (172 << 24) + (16 << 16) + 2;

export class AddressBlock {
  readonly hostIp: string;
  readonly cidr: string;
  readonly #first: number;
  readonly #used = new Set<number>();
  #next = 1;

  /** `index` of the node, below 16,000. */
  constructor(index: number) {
    this.hostIp = dotted((firstHost + index) >>> 0);
    this.#first = (firstPodBlock + index * podsOfBlock) >>> 0;
    this.cidr = `${dotted(this.#first)}/22`;
  }

  /** A free address; the one freed longest ago comes last. */
  take(): string {
    for (let tries = 0; tries < podsOfBlock; tries++) {
      const offset = this.#next;
      this.#next = this.#next >= podsOfBlock - 2 ? 1 : this.#next + 1;
      if (this.#used.has(offset)) continue;
      this.#used.add(offset);
      return dotted((this.#first + offset) >>> 0);
    }
    return this.hostIp;
  }

  /** Marks an address as used that a pod had before this block was made. */
  keep(address: string): void {
    const offset = numeric(address) - this.#first;
    if (offset > 0 && offset < podsOfBlock) this.#used.add(offset);
  }

  free(address: string): void {
    this.#used.delete(numeric(address) - this.#first);
  }
}

function dotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
}

function numeric(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}
