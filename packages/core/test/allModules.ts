/**
 * Core with the modules that come with it, for tests of what all of them have in common.
 */
import type { LocalAccountHandle, Tollgate } from "@tollgate/core"
import { declareAll } from "@tollgate/core/effect"
import { type DecisionsModule, type DecisionsOfAccount, decisions } from "@tollgate/decisions"
import { decisionsClient } from "@tollgate/decisions/client"
import {
  type DeploymentOptions,
  type DeploymentsModule,
  type DeploymentsOfAccount,
  deployments,
  memorySourceStore,
  memoryTarget
} from "@tollgate/deployments"
import { deploymentsClient } from "@tollgate/deployments/client"
import { customerPortal, type PortalModule, type PortalOfAccount } from "@tollgate/portal"
import { portalClient } from "@tollgate/portal/client"
import { type TokensModule, type TokensOfAccount, tokens } from "@tollgate/tokens"
import { tokensClient } from "@tollgate/tokens/client"
import { type WebhooksModule, type WebhooksOfAccount, webhooks } from "@tollgate/webhooks"
import { webhooksClient } from "@tollgate/webhooks/client"
import { deploymentInstruments } from "../../deployments/src/runner/deploymentInstruments.ts"
import { webhookInstruments } from "../../webhooks/src/webhookInstruments.ts"
import { type Instrument, instruments } from "../src/telemetry/instruments.ts"

export const clientModules = [decisionsClient, deploymentsClient, portalClient, tokensClient, webhooksClient]

export const { api: Api, descriptions } = declareAll(clientModules)

/** Deployments whose sources and sites are in memory. */
export const memoryDeployments = (options: Partial<DeploymentOptions> = {}): DeploymentsModule =>
  deployments({ sources: memorySourceStore(), target: memoryTarget(), ...options })

export const allInstruments: ReadonlyArray<Instrument> = Object.values<Instrument>({
  ...instruments,
  ...deploymentInstruments,
  ...webhookInstruments
})

export type AllModules = DecisionsModule | DeploymentsModule | PortalModule | TokensModule | WebhooksModule

/** Options of a Tollgate with all modules. */
export const withAllModules = () => ({
  publicUrl: "http://gate",
  modules: [
    decisions(),
    memoryDeployments(),
    tokens(),
    webhooks(),
    customerPortal()
  ] satisfies ReadonlyArray<AllModules>
})

export type Gate = Tollgate<AllModules>
export type Account = LocalAccountHandle &
  DecisionsOfAccount &
  DeploymentsOfAccount &
  PortalOfAccount &
  TokensOfAccount &
  WebhooksOfAccount
