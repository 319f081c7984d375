/** What a person enters for features, of a plan or instead of those of plans. */
export interface FeatureInput {
  readonly name: string
  readonly kind: "on" | "number" | "text" | "off"
  readonly value: string
}

export const emptyFeature: FeatureInput = { name: "", kind: "on", value: "" }

type FeatureValue = boolean | number | string

export const toFeatureInputs = (features: Readonly<Record<string, FeatureValue>> = {}): ReadonlyArray<FeatureInput> =>
  Object.entries(features).map(([name, value]) =>
    typeof value === "boolean"
      ? { name, kind: value ? "on" : "off", value: "" }
      : { name, kind: typeof value === "number" ? "number" : "text", value: String(value) }
  )

export const toFeatures = (rows: ReadonlyArray<FeatureInput>): Readonly<Record<string, FeatureValue>> =>
  Object.fromEntries(
    rows.map(({ name, kind, value }) => [
      name,
      kind === "number" ? Number(value) : kind === "text" ? value : kind === "on"
    ])
  )

export const describeFeature = ({ name, kind, value }: FeatureInput): string =>
  kind === "on" || kind === "off" ? `${name}: ${kind}` : `${name}: ${value}`
