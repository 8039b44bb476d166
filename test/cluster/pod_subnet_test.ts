import t from "tap";
import { podSubnet } from "./pod_subnet.ts";

t.test("clusters of a process and of processes with other numbers have networks of their own", async (t) => {
  t.equal(podSubnet(10417, 0, ""), "10.117.0.0/20");
  t.equal(podSubnet(10417, 15, ""), "10.117.240.0/20");
  t.equal(podSubnet(10418, 0, ""), "10.118.0.0/20");
});

t.test("a network into which there is a route is left out, for whatever the route is", async (t) => {
  const others =
    "default via 192.0.2.1 dev eth0\n10.0.0.0/8 dev eth0\n10.117.16.0/20 dev rft1x1 proto kernel linkdown\n";
  t.equal(podSubnet(17, 0, others), "10.117.0.0/20");
  for (const network of ["10.117.0.0/20", "10.117.0.0/16", "10.117.15.255", "10.117.8.0/24"])
    t.equal(podSubnet(17, 0, `${others}${network} dev rft1x0\n`), "10.118.0.0/20", network);
});

t.test("the last network is followed by the first", async (t) => {
  t.equal(podSubnet(99, 3, "10.199.0.0/16 dev eth0"), "10.100.48.0/20");
});

t.test("when there is none, that is said", async (t) => {
  const routes = Array.from({ length: 100 }, (_, index) => `10.${100 + index}.0.0/16 dev eth0`);
  t.throws(() => podSubnet(1, 0, routes.join("\n")), { message: /routes into each network/ });
});
