import { upgradeSuite } from "./l01_upgrades.ts";
import { certificateSuite } from "./l02_certificates.ts";
import { certManagerSuite } from "./l03_cert_manager.ts";
import { serverUpgradeSuite } from "./l04_server_upgrade.ts";
import { clockSuite } from "./l05_clock.ts";
import { uninstallSuite } from "./l09_uninstall.ts";
import { podsSuite } from "./l10_pods.ts";
import { takeoverSuite } from "./l11_takeover.ts";
import type { LifeSuite } from "./suite.ts";

/** In the order in which they run: those after the uninstallation bring installations of their own. */
export const lifeSuites: readonly LifeSuite[] = [
  upgradeSuite,
  certificateSuite,
  serverUpgradeSuite,
  clockSuite,
  uninstallSuite,
  certManagerSuite,
  takeoverSuite,
  podsSuite,
];
