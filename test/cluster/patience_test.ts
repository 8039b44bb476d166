import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { crowding, Patience } from "./patience.ts";

t.test("everything takes as many times as long as there is work for each processor", (t) => {
  t.equal(crowding(0, 2), 1);
  t.equal(crowding(1.5, 2), 1, "a machine that is not busy is not faster than itself");
  t.equal(crowding(8, 2), 4);
  t.end();
});

t.test("patience ends, and not before its time", async (t) => {
  t.notOk(new Patience(60_000).isOver);
  const short = new Patience(1);
  while (!short.isOver) await sleep(5);
  t.ok(short.leftMs <= 0);
  t.match(String(new Patience(60_000)), /60 s/);
});
