/**
 * The options of `customerPortal`.
 */
import { Brand, Options, Scopes } from "@tollgate/core/module"
import { Schema } from "effect"
import type { PortalTexts } from "./texts.ts"
import { textsOption } from "./textsOption.ts"

/** A plan that customers can choose. Its name identifies it. */
export interface OfferedPlan {
  /** What customers read. */
  readonly name: string
  /** The plans that a customer has with it. Customers do not see the ids. */
  readonly planExternalIds: ReadonlyArray<string>
  /** Such as `€ 20 a month`. */
  readonly price?: string | undefined
  readonly description?: string | undefined
  /** A page of yours on which customers change to it: a path of your server, or an https URL. */
  readonly link?: string | undefined
}

/** Which customer wants which plan. */
export interface PlanChangeRequest {
  readonly accountName: string
  readonly keyBucketName: string
  readonly consumerName: string
  readonly customerKey: string
  readonly meteringBucketId?: string | undefined
  readonly plan: OfferedPlan
  /** Who is signed in, as the session says. */
  readonly name?: string | undefined
}

/** Nothing if the plan is changed; where the customer goes on, such as a checkout; or why it is not changed. */
export type PlanChangeResult =
  | { readonly url: string; readonly refused?: undefined }
  | { readonly refused: string; readonly url?: undefined }
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing
  | void

/** How the portal looks, and what it says. The page carries it. */
export interface PortalLooks {
  /** Your product. */
  readonly name?: string | undefined
  /** A picture before the name: a path of your server, such as `/logo.svg`, or a `data:` URL of at most 64 KiB. */
  readonly logo?: string | undefined
  /** The colour of buttons and links as `#rrggbb`, dark enough for white text on it. For dark mode the page makes it lighter. */
  readonly color?: string | undefined
  /** Texts in place of those of the portal, by their names. */
  readonly texts?: Partial<PortalTexts> | undefined
  /** Where the page leads back to if its session does not say it, or has ended: a path of your server, or an https URL. */
  readonly returnUrl?: string | undefined
}

/** The options of `customerPortal`. */
export interface PortalOptions extends PortalLooks {
  /** The metering bucket of the customers, by its name or its id. Without one, the portal shows keys only. */
  readonly meteringBucket?: string | undefined
  /** The plans that customers can see and choose. */
  readonly plans?: ReadonlyArray<OfferedPlan> | undefined
  /** Changes the plan of a customer, or says where to pay first. Without it, plans with a `link` can be chosen. */
  readonly onPlanChange?: ((change: PlanChangeRequest) => PlanChangeResult | Promise<PlanChangeResult>) | undefined
  /** The scopes of keys that customers create. Default: those of the newest key that is enabled. */
  readonly keyScopes?: ReadonlyArray<string> | undefined
  /** How many keys that have not expired a customer may have to create another. Default: 10. */
  readonly maxKeys?: number | undefined
}

const maxMaxKeys = 1_000

/** A path of this server. Browsers take `//` and `/\` for another host. */
const isOwnPath = (text: string): boolean => /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)

/**
 * An absolute URL with one of these protocols, without credentials. What is parsed alone must be what a page leads to: browsers
 * take `https:evil` for a path of the page, and leave out spaces.
 */
const isUrl = (text: string, protocols: ReadonlyArray<string>): boolean => {
  const url = /^https?:\/\/[^\s\\]+$/i.test(text) ? URL.parse(text) : null
  return url !== null && protocols.includes(url.protocol) && url.username === "" && url.password === ""
}

/** Where a page may lead: to a path of this server, to https, or to its own origin. */
export const isSafeTarget = (text: string, origin?: string | undefined): boolean =>
  isOwnPath(text) ||
  isUrl(text, ["https:"]) ||
  (origin !== undefined && isUrl(text, ["http:"]) && URL.parse(text)?.origin === origin)

const target = (example: string) =>
  Options.string(`must be a path of your server such as ${example}, or an https URL`, (text) => isSafeTarget(text))

const hasLength = (max: number) => (text: string) => text.length >= 1 && text.length <= max

const offeredPlan = Options.struct<OfferedPlan>()({
  name: Options.string("must have 1 to 100 characters", hasLength(100)),
  planExternalIds: Options.value(
    (value): value is ReadonlyArray<string> =>
      Array.isArray(value) && value.length > 0 && value.every((id) => typeof id === "string" && id !== ""),
    "must be an array of ids of plans, at least one"
  ),
  price: Options.optional(Options.string("must have 1 to 100 characters", hasLength(100))),
  description: Options.optional(Options.string("must have 1 to 1000 characters", hasLength(1_000))),
  link: Options.optional(target("/upgrade"))
})

const offeredPlans = Schema.Array(offeredPlan)
  .annotate({ message: "must be an array of { name, planExternalIds, price, description, link }" })
  .check(
    Schema.makeFilter((plans) => {
      const names = plans.map(({ name }) => name)
      const duplicate = names.findIndex((name, index) => names.indexOf(name) < index)
      return duplicate < 0 || { path: [duplicate, "name"], issue: "duplicate name; list each plan once" }
    })
  )

export const portalOptions = Options.struct<PortalOptions>()({
  name: Options.optional(Brand.name),
  logo: Options.optional(Brand.logo),
  color: Options.optional(Brand.colour),
  texts: Options.optional(textsOption),
  returnUrl: Options.optional(target("/settings")),
  meteringBucket: Options.optional(
    Options.string("must be the name or the id of a metering bucket", (name) =>
      /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name)
    )
  ),
  plans: Options.optional(offeredPlans),
  onPlanChange: Options.optional(
    Options.callback<NonNullable<PortalOptions["onPlanChange"]>>(
      "must be a function that takes { consumerName, customerKey, plan }"
    )
  ),
  keyScopes: Options.optional(
    Options.value(Schema.is(Scopes), "must be an array of at most 50 scopes, such as orders:read")
  ),
  maxKeys: Options.optional(Options.positiveInteger("must be a number of keys, 1 to 1000", maxMaxKeys))
})
