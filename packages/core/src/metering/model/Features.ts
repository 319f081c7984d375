/**
 * What a plan gives beside meters and rate limits: switches, numbers and texts that your code reads. A customer has the
 * features of all its subscriptions that allow usage.
 */
import { isMaxCharacters, recordByShortName, shortName } from "@tollgate/store/internal"
import { Schema } from "effect"

const maxFeatures = 50

const FeatureValue = Schema.Union([
  Schema.Literal(true),
  Schema.Finite.pipe(Schema.check(Schema.isGreaterThanOrEqualTo(0))),
  Schema.String.pipe(Schema.check(Schema.isMinLength(1), isMaxCharacters(256)))
])
type FeatureValue = typeof FeatureValue.Type

const message = { message: 'must be an object such as { "exports": true, "seats": 5, "support": "email" }' }

/** The features of a plan, by name: `true`, a number or a text. `{}` in an update removes all. */
export const Features = recordByShortName(
  FeatureValue.annotate({
    message: "must be true, a number of at least 0, or a text of 1 to 256 characters; leave out what the plan lacks"
  })
)
  .annotate(message)
  .pipe(Schema.check(Schema.isMaxProperties(maxFeatures)))
  .annotate({ identifier: "Features" })
export type Features = typeof Features.Type

/** What one subscription has instead. `false` takes a feature away. */
export const FeatureOverrides = recordByShortName(
  Schema.Union([FeatureValue, Schema.Literal(false)]).annotate({
    message: "must be true, false, a number of at least 0, or a text of 1 to 256 characters"
  })
)
  .annotate(message)
  .pipe(Schema.check(Schema.isMaxProperties(maxFeatures)))
type FeatureOverrides = typeof FeatureOverrides.Type

/** The names of the features that a request needs. */
export const RequiredFeatures = Schema.Array(shortName).pipe(Schema.check(Schema.isMaxLength(maxFeatures)))

/** Features that count together with those of other plans. */
export interface FeatureSource {
  readonly features: Readonly<Record<string, FeatureValue>>
  /** Epoch milliseconds: if sources have values of different types, that of the source created last counts. */
  readonly createdOn: number
}

/** The features of a subscription: those of its plans, and last what it has instead. */
export const overrideFeatures = (
  plans: ReadonlyArray<FeatureSource>,
  overrides: FeatureOverrides = {}
): ReadonlyArray<FeatureSource> => {
  const own = Object.entries(overrides).filter((entry): entry is [string, FeatureValue] => entry[1] !== false)
  return [
    ...plans.map(({ features, createdOn }) => ({
      features: Object.fromEntries(Object.entries(features).filter(([name]) => !Object.hasOwn(overrides, name))),
      createdOn
    })),
    { features: Object.fromEntries(own), createdOn: Number.POSITIVE_INFINITY }
  ].filter(({ features }) => Object.keys(features).length > 0)
}

const combineValues = (values: ReadonlyArray<FeatureValue>): FeatureValue | undefined => {
  const isNumber = (value: FeatureValue): value is number => typeof value === "number"
  return values.every(isNumber) ? Math.max(...values) : values.at(-1)
}

/** What there is of each feature: of numbers the highest. A number that is 0 is missing. */
export const combineFeatures = (sources: ReadonlyArray<FeatureSource>): Features => {
  const values = new Map<string, Array<FeatureValue>>()
  for (const { features } of sources.toSorted((left, right) => left.createdOn - right.createdOn)) {
    for (const [name, value] of Object.entries(features)) values.set(name, [...(values.get(name) ?? []), value])
  }
  const combined = [...values].flatMap(([name, all]) => {
    const value = combineValues(all)
    return value === undefined || value === 0 ? [] : [[name, value] as const]
  })
  return Object.fromEntries(combined)
}

/** The required features that a customer lacks. */
export const findMissingFeatures = (required: ReadonlyArray<string>, features: Features = {}): ReadonlyArray<string> =>
  required.filter((name) => !Object.hasOwn(features, name))
