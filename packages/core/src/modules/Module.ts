/**
 * A module: an area of Tollgate as one value. The HTTP API, the client, the OpenAPI description, the handles and background
 * work are made from the list of modules. Core's own areas have the same form.
 */

import type { ConfigurationError, Partition, Store, StoreError, TollgateError } from "@tollgate/store/internal"
import type { Effect, Layer, Schema, Stream } from "effect"
import type { Authenticator } from "../access/Authenticator.ts"
import type { LimitDescriptions } from "../accounts/limits/Limits.ts"
import type { Params } from "../api/AnyRequest.ts"
import type { CallerScope } from "../api/checkOwner.ts"
import type { AnyGroup } from "../api/declareApi.ts"
import type { Example } from "../http/docs/addExamples.ts"
import type { HostRoutes, ServedRoute } from "../http/routes.ts"
import type { EventCatalog } from "../outbox/Event.ts"
import type { WorkRecords } from "../outbox/WorkRecords.ts"
import type { HandleProperty } from "../promises/makeHandles.ts"
import type { EventSink } from "../relay/EventSinks.ts"
import type { SearchSource } from "../search/SearchSource.ts"
import type { TelemetryBridge } from "../telemetry/HostTelemetry.ts"

/** What a client needs of a module, too. */
export interface ModuleDeclaration {
  readonly name: string
  /** The endpoints, in groups. `eventTypes` are the types of events of all modules. */
  readonly groups?: (eventTypes: ReadonlyArray<string>) => ReadonlyArray<AnyGroup>
  /** What it tells about an account, beside what core does: fields of the response of `accounts.get`. */
  readonly accountFields?: Readonly<Record<string, Schema.Top>>
  /** The events that it records, by type. */
  readonly events?: EventCatalog
  /** What it adds to the handle of an account, in process and in a client. */
  readonly account?: Readonly<Record<string, HandleProperty>>
  /**
   * The kinds of resources whose paths do not name their account, by the name that endpoints give as their owner, and the
   * error for callers who do not own one.
   */
  readonly owned?: Readonly<Record<string, (params: Params) => TollgateError>>
}

/** How the re-encryption of one record ended. */
export type ReencryptOutcome = "reencrypted" | "unchanged" | "notStored" | "undecryptable"

/** The part of a module that runs in the server. `Services` are those of its layer. */
export interface ModuleParts<Services = never, Requirements = never> extends ModuleDeclaration {
  /** Modules that it uses. Each is added to the list unless the list has one with its name. */
  readonly needs?: ReadonlyArray<Module>
  readonly layer?: Layer.Layer<Services, ConfigurationError | StoreError, Requirements>
  /** The implementations of the endpoints, by group and name. */
  readonly operations?: Effect.Effect<Readonly<Record<string, object>>, never, Services>
  /** Finds the owners of the kinds of resources in `owned`. */
  readonly owners?: Effect.Effect<
    Readonly<Record<string, (params: Params) => Effect.Effect<CallerScope, unknown>>>,
    never,
    Services
  >
  /** Reads what it tells about an account. */
  readonly accountDetails?: Effect.Effect<(accountName: string) => Effect.Effect<object, StoreError>, never, Services>
  /** Finds what it has, for the search in an account. */
  readonly search?: SearchSource
  /** Limits of its records, for the option `limits`. */
  readonly limits?: LimitDescriptions
  /** An example of what it tells about an account. */
  readonly accountExample?: object
  /** Examples of the bodies of its endpoints, by group and name. */
  readonly examples?: Readonly<Record<string, Readonly<Record<string, Example>>>>
  /** Routes beside the endpoints. */
  readonly routes?: Effect.Effect<ReadonlyArray<ServedRoute>, never, Services>
  /** Hosts that serve nothing but this module. */
  readonly hosts?: Effect.Effect<HostRoutes | undefined, never, Services>
  /** What it adds to a Tollgate in process. */
  readonly gate?: Effect.Effect<object, never, Services>
  /** Accepts credentials that the authenticator of the application does not know. */
  readonly acceptCredentials?: Effect.Effect<
    (next: Authenticator["Service"]) => Authenticator["Service"],
    never,
    Services
  >
  /** Gets the events of all accounts. */
  readonly eventSink?: Effect.Effect<EventSink, never, Services>
  /** Its records that are work which follows from a commit. */
  readonly work?: WorkRecords
  /** All partitions that have records of an account. */
  readonly partitions?: (accountName: string) => Stream.Stream<Partition.Partition, StoreError, Store>
  /**
   * Takes spans and metrics, if it returns a bridge. `createTollgate` calls it once and uses the first bridge of all modules;
   * programs that use Effect bring a tracer and a metric registry of their own.
   */
  readonly telemetry?: () => TelemetryBridge | undefined
  /** Re-encrypts what it has encrypted under the primary secret. */
  readonly reencrypt?: Effect.Effect<ReadonlyArray<ReencryptOutcome>, StoreError, Services>
}

/** What a client takes. `Account` is what it adds to the handle of an account. */
export interface ClientModule<Account extends object = object> extends ModuleDeclaration {
  readonly "~account"?: Account
}

/** A module of a Tollgate in process. `Account` and `Gate` are what it adds to the handles. */
export interface Module<Account extends object = object, Gate extends object = object, Services = unknown>
  extends ModuleParts {
  readonly "~account"?: Account
  readonly "~gate"?: Gate
  readonly "~services"?: Services
}

/** What modules add to the handle of an account. */
export type AccountOf<M> = Intersect<M extends { readonly "~account"?: infer Account } ? NonNullable<Account> : never>
/** What modules add to a Tollgate in process. */
export type GateOf<M> = Intersect<M extends { readonly "~gate"?: infer Gate } ? NonNullable<Gate> : never>

/** The services of modules, for Effect programs. */
export type ServicesOf<M> = M extends { readonly "~services"?: infer Services } ? NonNullable<Services> : never

type Intersect<U> = [U] extends [never]
  ? unknown
  : (U extends unknown ? (value: U) => void : never) extends (value: infer I) => void
    ? I
    : never

/**
 * Only the module itself knows its services: they are in the context of everything that core runs of it. `never` by default,
 * so that a list with a module that adds nothing keeps the types of the others.
 */
export const defineModule = <
  Services = never,
  Requirements = never,
  Account extends object = object,
  Gate extends object = object
>(
  parts: ModuleParts<Services, Requirements>
): Module<Account, Gate, Services> => parts as unknown as Module<Account, Gate, Services>
