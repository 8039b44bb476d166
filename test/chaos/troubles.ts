/** What goes wrong on a real cluster, each with what ends it. */
import { setTimeout as sleep } from "node:timers/promises";
import type { TestCluster } from "../cluster/cluster.ts";
import type { MovedClock } from "../cluster/moved_clock.ts";
import type { Place, Relay } from "./relay.ts";
import type { Replicas } from "./replicas.ts";

export interface Stage {
  readonly cluster: TestCluster;
  readonly replicas: Replicas;
  /** Of all replicas. */
  readonly clock: MovedClock;
  /** A second API server, and the road that leads it to etcd. */
  readonly beside: { readonly server: Place; readonly road: Relay };
}

export interface Trouble {
  readonly number: string;
  readonly title: string;
  /** How long it lasts. */
  readonly forMs: number;
  /** So late controllers may be because of it. */
  readonly staleMs: number;
  /** Begins it; the result ends it. */
  begin(stage: Stage): Promise<() => unknown>;
}

const killed: Trouble = {
  number: "kill",
  title: "the leader is killed, and comes back when another one leads",
  forMs: 25_000,
  staleMs: 0,
  async begin({ replicas }) {
    const leader = await replicas.leader();
    await replicas.kill(leader);
    return () => replicas.revive(leader);
  },
};

const stopped: Trouble = {
  number: "stop",
  title: "the leader stands still for longer than its lease, then goes on",
  forMs: 25_000,
  // It knows no better when it goes on, and sends what it was about to send.
  staleMs: 30_000,
  async begin({ replicas }) {
    const leader = await replicas.leader();
    replicas.signal(leader, "SIGSTOP");
    return async () => replicas.signal(leader, "SIGCONT");
  },
};

const cut: Trouble = {
  number: "cut",
  title: "nothing gets from the leader to its server and back",
  forMs: 30_000,
  // What was sent before arrives afterwards.
  staleMs: 35_000,
  async begin({ replicas }) {
    const { network } = replicas.seat(await replicas.leader());
    await network.cut();
    return () => network.mend();
  },
};

const lossy: Trouble = {
  number: "loss",
  title: "every fifth packet between the replicas and their server is lost",
  forMs: 40_000,
  staleMs: 20_000,
  async begin({ replicas }) {
    const networks = [0, 1].map((number) => replicas.seat(number).network);
    for (const network of networks) await network.lose(0.2);
    return () => Promise.all(networks.map((network) => network.mend()));
  },
};

const clockMoved: Trouble = {
  number: "clock",
  title: "the replicas' clocks are an hour ahead, then an hour behind",
  forMs: 20_000,
  staleMs: 0,
  async begin({ clock }) {
    clock.set(3_600);
    await sleep(20_000);
    clock.set(-3_600);
    return async () => clock.set(0);
  },
};

const serverAway: Trouble = {
  number: "server",
  title: "the API server is killed, and comes back after ten seconds",
  forMs: 0,
  staleMs: 30_000,
  async begin({ cluster }) {
    await cluster.faults.serverAway();
    return async () => undefined;
  },
};

const storeLeaderless: Trouble = {
  number: "etcd",
  title: "the member of etcd that leads is killed, and comes back",
  forMs: 30_000,
  staleMs: 30_000,
  begin: ({ cluster }) => cluster.faults.killStoreLeader(),
};

const diskFull: Trouble = {
  number: "disk",
  title: "the disk of the member of etcd that leads is full, and has room again",
  forMs: 30_000,
  staleMs: 30_000,
  begin: ({ cluster }) => cluster.faults.fillStoreLeaderDisk(),
};

const lagMs = 3_000;

const behind: Trouble = {
  number: "behind",
  title: "the leader is moved to an API server that is three seconds behind, then back",
  forMs: 40_000,
  staleMs: 4 * lagMs,
  async begin({ beside, replicas }) {
    const seat = replicas.seat(await replicas.leader());
    const former = seat.server;
    const move = (server: Place): void => {
      seat.server = server;
      seat.road.drop();
    };
    beside.road.delayMs = lagMs;
    move(beside.server);
    return async () => {
      beside.road.delayMs = 0;
      move(former);
    };
  },
};

export const troubles: readonly Trouble[] = [
  killed,
  stopped,
  cut,
  lossy,
  clockMoved,
  serverAway,
  storeLeaderless,
  diskFull,
  behind,
];
