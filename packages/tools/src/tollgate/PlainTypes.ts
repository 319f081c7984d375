/**
 * Writes the types of `tollgate`: those of the packages inside, as plain declarations without Effect.
 *
 * A declaration keeps its text. What it takes from Effect, such as the type of a schema, is replaced by what it is. What only
 * a program with Effect can use, such as a layer, is left out: a required field becomes `unknown`, an optional one disappears.
 */
import { relative, sep } from "node:path"
import ts from "typescript5"

/** Of Effect, these are plain themselves. */
const plainOfEffect = new Set(["Json", "JsonArray", "JsonObject"])
/** What an application sees of these: it neither writes modules nor calls what protected routes are made of. */
const opaque: Readonly<Record<string, ReadonlyArray<string>>> = {
  ModuleDeclaration: ["name"],
  ModuleParts: [],
  BucketDecisions: []
}
/** Declarations with parts that only Effect can use. */
const notWhole = new Set([
  "BackgroundTasks",
  "BucketDecisions",
  "bucketDecisions",
  "DeploymentTarget",
  "ModuleDeclaration",
  "ModuleParts",
  "Release",
  "SourceStore",
  "SqliteStoreOperations",
  "StoreContentsOperations",
  "StoreOperations"
])
/** What every error has, and what Effect adds to it. */
const membersOfErrors = new Set(["name", "message", "stack", "cause", "pipe", "asEffect", "toJSON", "toString"])

/** Types that are written as the compiler writes them. */
const keywords =
  ts.TypeFlags.Any |
  ts.TypeFlags.Unknown |
  ts.TypeFlags.StringLike |
  ts.TypeFlags.NumberLike |
  ts.TypeFlags.BigIntLike |
  ts.TypeFlags.BooleanLiteral |
  ts.TypeFlags.ESSymbolLike |
  ts.TypeFlags.VoidLike |
  ts.TypeFlags.Null |
  ts.TypeFlags.Never |
  ts.TypeFlags.NonPrimitive |
  ts.TypeFlags.TypeParameter

/** The declarations of one package, and what they import. */
interface File {
  readonly imports: Map<string, Set<string>>
  readonly declarations: Array<string>
  readonly names: Set<string>
}

export class PlainTypes {
  readonly files = new Map<string, File>()
  readonly #checker: ts.TypeChecker
  readonly #packages: string
  readonly #isForComparison: boolean
  /** The file and the name of each declaration that was written. */
  readonly #written = new Map<ts.Symbol, { readonly file: string; readonly name: string }>()
  readonly #checking = new Set<ts.Node>()
  readonly #augmented = new Set<ts.SourceFile>()
  /** The file that is written. */
  #file = ""
  /** The texts that are one object, which an interface can have as its members. */
  readonly #objects = new Set<string>()
  /** Types that are being expanded: one that contains itself cannot be. */
  readonly #expanding: Array<ts.Type> = []

  /** `isForComparison` takes the declarations that are not whole from the packages, so that all others can be compared. */
  constructor(checker: ts.TypeChecker, packages: string, isForComparison = false) {
    this.#checker = checker
    this.#packages = packages
    this.#isForComparison = isForComparison
  }

  /** Writes a declaration, and returns its file and name; undefined if only a program with Effect can use it. */
  write(symbol: ts.Symbol): { readonly file: string; readonly name: string } | undefined {
    const written = this.#written.get(symbol)
    if (written !== undefined) return written
    const [first] = this.#declarationsOf(symbol)
    if (first === undefined || !(this.#isOurs(first) || this.#isEffect(first))) return undefined
    const file = this.#isEffect(first) ? "json" : this.#packageOf(first)
    if (!this.#within(file, () => this.#isPlain(symbol))) return undefined
    const names = this.#open(file).names
    let name = symbol.name
    for (let count = 2; names.has(name); count++) name = `${symbol.name}${count}`
    names.add(name)
    const target = { file, name }
    this.#written.set(symbol, target)
    this.#within(file, () => {
      if (this.#isOurs(first)) this.#augment(first.getSourceFile())
      if (this.#isForComparison && notWhole.has(name)) {
        const path = first.getSourceFile().fileName.replace(/\.d\.ts$/, ".js")
        this.#open(file).declarations.push(`import type { ${name} } from "${path}"\nexport type { ${name} }`)
      } else this.#open(file).declarations.push(this.#declare(symbol, name))
    })
    return target
  }

  #open(name: string): File {
    const file = this.files.get(name) ?? { imports: new Map(), declarations: [], names: new Set<string>() }
    this.files.set(name, file)
    return file
  }

  #within<A>(file: string, write: () => A): A {
    const before = this.#file
    this.#file = file
    try {
      return write()
    } finally {
      this.#file = before
    }
  }

  #isOurs(node: ts.Node): boolean {
    return node.getSourceFile().fileName.startsWith(this.#packages)
  }

  #isEffect(node: ts.Node): boolean {
    return node.getSourceFile().fileName.includes("/node_modules/effect/")
  }

  #packageOf(node: ts.Node): string {
    const path = relative(this.#packages, node.getSourceFile().fileName)
    // Only an application with Hono has its types.
    return path.endsWith("/hono.d.ts") ? "hono" : (path.split(sep)[0] ?? "")
  }

  /** A schema and its type have one name: only the type is plain. */
  #declarationsOf(symbol: ts.Symbol): ReadonlyArray<ts.Declaration> {
    const all = (symbol.declarations ?? []).filter((node) => !ts.isModuleBlock(node.parent))
    const types = all.filter((node) => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
    return types.length === 0 ? all : types
  }

  /** Whether a declaration can be written as it is, with what it takes from Effect replaced. */
  #isPlain(symbol: ts.Symbol): boolean {
    const [node] = this.#declarationsOf(symbol)
    if (node === undefined) return false
    if (this.#isEffect(node)) return plainOfEffect.has(symbol.name)
    if (ts.isInterfaceDeclaration(node)) return true
    if (ts.isTypeAliasDeclaration(node)) {
      return node.typeParameters === undefined ? this.#hasPlainPart(node) : !this.#mentionsEffect(node)
    }
    if (ts.isClassDeclaration(node)) return !this.#isService(symbol, node) || this.#staticsOf(node) !== ""
    if (ts.isVariableDeclaration(node)) return this.#typeOfValue(node) !== undefined
    return ts.isFunctionDeclaration(node)
  }

  /** One that refers to itself is plain if the rest of it is. */
  #hasPlainPart(node: ts.TypeAliasDeclaration): boolean {
    if (this.#checking.has(node)) return true
    this.#checking.add(node)
    const text = this.#render(node.type)
    this.#checking.delete(node)
    return text !== undefined
  }

  #mentionsEffect(node: ts.Node): boolean {
    if (ts.isIdentifier(node)) {
      const [declaration] = this.#resolve(node)?.declarations ?? []
      if (declaration !== undefined && this.#isEffect(declaration)) return true
    }
    return ts.forEachChild(node, (child) => this.#mentionsEffect(child)) === true
  }

  #resolve(node: ts.Node): ts.Symbol | undefined {
    const symbol = this.#checker.getSymbolAtLocation(node)
    return symbol !== undefined && symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  /** The name of a declaration in the file that is written, imported if it is in another one. */
  #refer(symbol: ts.Symbol): string | undefined {
    const target = this.write(symbol)
    if (target === undefined) return undefined
    const { file, name } = target
    if (file !== this.#file)
      this.#import(`./${file}.js`, `${name}${this.#open(this.#file).names.has(name) ? ` as ${name}Of${file}` : ""}`)
    return file !== this.#file && this.#open(this.#file).names.has(name) ? `${name}Of${file}` : name
  }

  #import(module: string, clause: string): void {
    const { imports } = this.#open(this.#file)
    imports.set(module, (imports.get(module) ?? new Set()).add(clause))
  }

  // Declarations

  /** Without the lines of examples that use Effect. */
  #comment(node: ts.Node): string {
    const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc)
    return comment === undefined ? "" : `${comment.getText().replaceAll(/(\n \*)?\n.*\bEffect\.provide\(.*/g, "")}\n`
  }

  #declare(symbol: ts.Symbol, name: string): string {
    return this.#declarationsOf(symbol)
      .map((node) => {
        if (ts.isInterfaceDeclaration(node)) return this.#declareInterface(node, name)
        if (ts.isTypeAliasDeclaration(node)) {
          const text = this.#render(node.type) ?? "unknown"
          const isObject = this.#objects.has(text) && node.typeParameters === undefined
          const head = isObject ? `interface ${name} ` : `type ${name}${this.#parameters(node)} = `
          return `${this.#comment(node)}export ${head}${text}`
        }
        if (ts.isClassDeclaration(node)) return this.#declareClass(symbol, node, name)
        if (ts.isVariableDeclaration(node)) {
          return `${this.#comment(node.parent.parent)}export declare const ${name}: ${this.#typeOfValue(node)}`
        }
        if (ts.isFunctionDeclaration(node)) {
          return `${this.#comment(node)}export declare function ${name}${this.#signature(node, ": ")}`
        }
        return ""
      })
      .filter((text) => text !== "")
      .join("\n")
  }

  #declareInterface(node: ts.InterfaceDeclaration, name: string): string {
    const bases = (node.heritageClauses ?? []).flatMap(({ types }) =>
      types.flatMap((type) => this.#reference(type, type.expression, type.typeArguments) ?? [])
    )
    const named = bases.filter((base) => !base.startsWith("{"))
    const heritage = named.length === 0 ? "" : ` extends ${named.join(", ")}`
    const seen = opaque[node.name.text]
    const own = node.members.filter((member) => seen?.includes(member.name?.getText() ?? "") !== false)
    const members = [
      ...bases.filter((base) => base.startsWith("{")).map((base) => `${base.slice(1, -1).trim()}\n`),
      this.#members(own)
    ]
    return `${this.#comment(node)}export interface ${name}${this.#parameters(node)}${heritage} {\n${members.join("")}}`
  }

  #isService(symbol: ts.Symbol, node: ts.ClassDeclaration): boolean {
    const type = this.#checker.getTypeOfSymbolAtLocation(symbol, node)
    return type.getProperty("Service") !== undefined || type.getProperty("~effect/Context/Service") !== undefined
  }

  #staticsOf(node: ts.ClassDeclaration): string {
    return node.members
      .filter(
        (member) =>
          ts.canHaveModifiers(member) && member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword)
      )
      .map((member) => {
        if (!ts.isMethodDeclaration(member)) return ""
        const signature = this.#signature(member, ": ")
        return signature === undefined ? "" : `${this.#comment(member)}${member.name.getText()}${signature}\n`
      })
      .join("")
  }

  #declareClass(symbol: ts.Symbol, node: ts.ClassDeclaration, name: string): string {
    if (this.#isService(symbol, node)) {
      return `${this.#comment(node)}export declare const ${name}: {\n${this.#staticsOf(node)}}`
    }
    const base = node.heritageClauses?.[0]?.types[0]?.expression
    if (base === undefined || base.getText() === "Error") return this.#declareOwnClass(node, name)
    const instance = this.#checker.getDeclaredTypeOfSymbol(symbol)
    const fields = instance
      .getProperties()
      .filter((field) => !membersOfErrors.has(field.name) && !/^(__@|~)/.test(field.name))
      .flatMap((field) => this.#field(field, node) ?? [])
    const [construct] = this.#checker.getTypeOfSymbolAtLocation(symbol, node).getConstructSignatures()
    // Those of a schema are one list, whose second item is for Effect.
    const parameters = (construct?.getParameters() ?? []).slice(0, 1).flatMap((parameter) => {
      const type = this.#checker.getTypeOfSymbolAtLocation(parameter, node)
      const [first = type] = this.#checker.isTupleType(type)
        ? this.#checker.getTypeArguments(type as ts.TypeReference)
        : []
      const text = this.#print(first, node)
      if (text === undefined) return []
      return /(^undefined \| | \| undefined$)/.test(text) ? `fields?: ${text}` : `fields: ${text}`
    })
    const members = [...fields, `constructor(${parameters.join(", ")})`].map((field) => `${field}\n`).join("")
    return `${this.#comment(node)}export declare class ${name} extends Error {\n${members}}`
  }

  #declareOwnClass(node: ts.ClassDeclaration, name: string): string {
    const text = node.getText().replace(/^export declare (abstract )?class \w+/, `export declare $1class ${name}`)
    for (const clause of node.heritageClauses ?? [])
      for (const { expression } of clause.types) this.#refer(this.#resolve(expression) as ts.Symbol)
    return `${this.#comment(node)}${text}`
  }

  /** The type of a constant: of one that is an object, what can be used without Effect. */
  #typeOfValue(node: ts.VariableDeclaration): string | undefined {
    if (node.type === undefined) return undefined
    if (!ts.isTypeLiteralNode(node.type)) return this.#render(node.type)
    const members = this.#members(node.type.members, true)
    return members === "" ? undefined : `{\n${members}}`
  }

  /** What the file of a declaration adds to modules of others and to the globals. */
  #augment(file: ts.SourceFile): void {
    if (this.#augmented.has(file)) return
    this.#augmented.add(file)
    for (const statement of file.statements) {
      if (!ts.isModuleDeclaration(statement) || statement.body === undefined) continue
      const target = ts.isStringLiteral(statement.name) ? this.#resolve(statement.name)?.declarations?.[0] : undefined
      const body = this.#augmentation(statement.body)
      // A module of ours is the file that declares what is added to.
      const ours = target !== undefined && this.#isOurs(target) ? this.#packageOf(target) : undefined
      const head = ts.isStringLiteral(statement.name)
        ? `module "${ours === undefined ? statement.name.text : `./${ours}.js`}"`
        : statement.name.text === "global"
          ? "global"
          : `namespace ${statement.name.text}`
      this.#open(this.#file).declarations.push(`declare ${head} {\n${body}}`)
      if (ours !== undefined || !ts.isStringLiteral(statement.name)) continue
      this.#import(statement.name.text, "")
    }
  }

  #augmentation(body: ts.ModuleDeclaration["body"]): string {
    if (body === undefined || !ts.isModuleBlock(body)) return ""
    return body.statements
      .map((statement) => {
        if (ts.isModuleDeclaration(statement))
          return `namespace ${statement.name.text} {\n${this.#augmentation(statement.body)}}\n`
        if (!ts.isInterfaceDeclaration(statement)) return ""
        return `interface ${statement.name.text}${this.#parameters(statement)} {\n${this.#members(statement.members)}}\n`
      })
      .join("")
  }

  // Types as they are written

  #parameters(node: { readonly typeParameters?: ts.NodeArray<ts.TypeParameterDeclaration> | undefined }): string {
    if (node.typeParameters === undefined) return ""
    return `<${node.typeParameters
      .map((parameter) => {
        const modifiers = (parameter.modifiers ?? []).map((modifier) => `${modifier.getText()} `).join("")
        const constraint = parameter.constraint && ` extends ${this.#render(parameter.constraint) ?? "unknown"}`
        const byDefault = parameter.default && ` = ${this.#render(parameter.default) ?? "unknown"}`
        return `${modifiers}${parameter.name.text}${constraint ?? ""}${byDefault ?? ""}`
      })
      .join(", ")}>`
  }

  /** Parameters and result; undefined if one of them needs Effect. */
  #signature(node: ts.SignatureDeclaration, arrow: string): string | undefined {
    const parameters = node.parameters.map((parameter) => {
      const type = parameter.type === undefined ? "unknown" : this.#render(parameter.type)
      if (type === undefined) return undefined
      const name = ts.isIdentifier(parameter.name) ? parameter.name.text : "options"
      return `${parameter.dotDotDotToken ? "..." : ""}${name}${parameter.questionToken ? "?" : ""}: ${type}`
    })
    const result = node.type === undefined ? "void" : this.#render(node.type)
    if (result === undefined || parameters.includes(undefined)) return undefined
    return `${this.#parameters(node)}(${parameters.join(", ")})${arrow}${result}`
  }

  /** Of values, members that need Effect are left out. */
  #members(members: ReadonlyArray<ts.TypeElement>, isValue = false): string {
    return members.map((member) => this.#member(member, isValue)).join("")
  }

  #member(member: ts.TypeElement, isValue: boolean): string {
    const symbol =
      member.name && ts.isComputedPropertyName(member.name) ? this.#resolve(member.name.expression) : undefined
    const name = symbol === undefined ? (member.name?.getText() ?? "") : `[${this.#refer(symbol)}]`
    const isReadonly =
      ts.canHaveModifiers(member) && member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword)
    const head = `${isReadonly ? "readonly " : ""}${name}${member.questionToken ? "?" : ""}`
    const comment = this.#comment(member)
    if (ts.isPropertySignature(member)) {
      const type = member.type === undefined ? "unknown" : this.#render(member.type)
      if (type !== undefined) return `${comment}${head}: ${type}\n`
      return isValue || member.questionToken ? "" : `${head}: unknown\n`
    }
    if (
      ts.isMethodSignature(member) ||
      ts.isCallSignatureDeclaration(member) ||
      ts.isConstructSignatureDeclaration(member)
    ) {
      const signature = this.#signature(member, ": ")
      if (signature !== undefined)
        return `${comment}${ts.isConstructSignatureDeclaration(member) ? "new " : head}${signature}\n`
      return isValue || member.questionToken || name === "" ? "" : `readonly ${name}: unknown\n`
    }
    if (ts.isIndexSignatureDeclaration(member)) {
      const [parameter] = member.parameters
      const type = this.#render(member.type)
      return `${isReadonly ? "readonly " : ""}[${parameter?.getText()}]: ${type ?? "unknown"}\n`
    }
    throw new Error(`${ts.SyntaxKind[member.kind]} is not known: ${member.getText()}`)
  }

  /** A type as it is written, with what needs Effect replaced; undefined if nothing is left. */
  #render(node: ts.TypeNode): string | undefined {
    const all = (nodes: ReadonlyArray<ts.TypeNode>) => nodes.flatMap((part) => this.#render(part) ?? [])
    if (ts.isTypeReferenceNode(node)) return this.#reference(node, node.typeName, node.typeArguments)
    if (ts.isImportTypeNode(node)) {
      return node.qualifier === undefined || node.isTypeOf
        ? this.#expand(node)
        : this.#reference(node, node.qualifier, node.typeArguments)
    }
    if (ts.isTypeQueryNode(node)) return this.#query(node)
    if (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node)) {
      const parts = all(node.types)
      return parts.length === 0 ? undefined : parts.join(ts.isUnionTypeNode(node) ? " | " : " & ")
    }
    if (ts.isFunctionTypeNode(node)) return this.#signature(node, " => ")
    if (ts.isTypeLiteralNode(node)) return `{\n${this.#members(node.members)}}`
    if (
      ts.isTypeOperatorNode(node) ||
      ts.isIndexedAccessTypeNode(node) ||
      ts.isMappedTypeNode(node) ||
      ts.isConditionalTypeNode(node)
    ) {
      if (this.#mentionsEffect(node) || this.#mentionsValue(node)) return this.#expand(node)
    }
    return this.#renderParts(node)
  }

  #mentionsValue(node: ts.Node): boolean {
    return ts.isTypeQueryNode(node) || ts.forEachChild(node, (child) => this.#mentionsValue(child)) === true
  }

  /** The text of a node, with the types in it rendered. */
  #renderParts(node: ts.Node): string | undefined {
    const start = node.getStart()
    let text = ""
    let end = start
    let isComplete = true
    const visit = (child: ts.Node): void => {
      if (!ts.isTypeNode(child)) {
        ts.forEachChild(child, visit)
        return
      }
      const rendered = this.#render(child)
      if (rendered === undefined) isComplete = false
      text += child.getSourceFile().text.slice(end, child.getStart()) + rendered
      end = child.getEnd()
    }
    ts.forEachChild(node, visit)
    return isComplete ? text + node.getSourceFile().text.slice(end, node.getEnd()) : undefined
  }

  #query(node: ts.TypeQueryNode): string | undefined {
    const symbol = this.#resolve(node.exprName)
    const [declaration] = symbol?.declarations ?? []
    const isFunction =
      declaration !== undefined &&
      ts.isVariableDeclaration(declaration) &&
      declaration.type !== undefined &&
      ts.isFunctionTypeNode(declaration.type)
    const name = isFunction && symbol !== undefined ? this.#refer(symbol) : undefined
    return name === undefined ? this.#expand(node) : `typeof ${name}`
  }

  #reference(
    node: ts.TypeNode,
    name: ts.Node,
    typeArguments: ReadonlyArray<ts.TypeNode> | undefined
  ): string | undefined {
    const symbol = this.#resolve(name)
    const [declaration] = symbol?.declarations ?? []
    const text = () => {
      if (symbol === undefined || declaration === undefined) return name.getText()
      if (symbol.flags & ts.SymbolFlags.TypeParameter) return name.getText()
      if (this.#isOurs(declaration) || this.#isEffect(declaration)) {
        const isService = ts.isClassDeclaration(declaration) && this.#isService(symbol, declaration)
        return isService ? undefined : this.#refer(symbol)
      }
      return this.#importForeign(name)
    }
    const written = text()
    if (written === undefined) return this.#expand(node)
    const rendered = typeArguments?.map((argument) => this.#render(argument))
    // A promise of what needs Effect is of no use, and neither is a list of it. Only a module says what its services are.
    if (rendered?.includes(undefined) && declaration !== undefined && !this.#isOurs(declaration)) return undefined
    return rendered === undefined ? written : `${written}<${rendered.map((text) => text ?? "any").join(", ")}>`
  }

  /** A name that a declaration has imported from a package of others. */
  #importForeign(name: ts.Node): string {
    const first = name.getText().split(".")[0] ?? ""
    const identifier = ts.isQualifiedName(name) ? name.left : name
    if (ts.isImportTypeNode(name.parent)) {
      const argument = name.parent.argument.getText().replaceAll(/['"]/g, "")
      this.#import(argument, first)
      return name.getText()
    }
    const declaration = this.#checker.getSymbolAtLocation(identifier)?.declarations?.[0]
    if (declaration === undefined) return name.getText()
    const statement = ts.findAncestor(declaration, ts.isImportDeclaration)
    if (statement === undefined) return name.getText()
    const module = (statement.moduleSpecifier as ts.StringLiteral).text
    const clause = ts.isImportSpecifier(declaration)
      ? declaration.propertyName === undefined
        ? first
        : `${declaration.propertyName.getText()} as ${first}`
      : ts.isNamespaceImport(declaration)
        ? `* as ${first}`
        : `default as ${first}`
    this.#import(module, clause)
    return name.getText()
  }

  #expand(node: ts.TypeNode): string | undefined {
    return this.#print(this.#checker.getTypeFromTypeNode(node), node)
  }

  // Types as the compiler knows them

  #print(type: ts.Type, at: ts.Node): string | undefined {
    const alias = type.aliasSymbol
    if (
      alias !== undefined &&
      (alias.declarations ?? []).some((node) => this.#isOurs(node) || plainOfEffect.has(alias.name))
    ) {
      const isOwn = ts.findAncestor(at, (node) => alias.declarations?.includes(node as ts.Declaration) === true)
      const name = isOwn ? undefined : this.#refer(alias)
      const typeArguments = type.aliasTypeArguments?.map((argument) => this.#print(argument, at) ?? "unknown")
      if (name !== undefined) return typeArguments === undefined ? name : `${name}<${typeArguments.join(", ")}>`
    }
    const { TypeFlags } = ts
    if (type.flags & TypeFlags.Boolean) return "boolean"
    if (type.flags & keywords) return this.#checker.typeToString(type, at, ts.TypeFormatFlags.NoTruncation)
    if (type.isUnion()) {
      const isBoolean = (part: ts.Type) => part.flags & TypeFlags.BooleanLiteral
      const hasBoolean = type.types.filter(isBoolean).length === 2
      const parts = type.types
        .filter((part) => !(hasBoolean && isBoolean(part)))
        .flatMap((part) => this.#print(part, at) ?? [])
      if (hasBoolean) parts.push("boolean")
      const last = ["null", "undefined"]
      parts.sort((left, right) => last.indexOf(left) - last.indexOf(right))
      return parts.length === 0
        ? undefined
        : parts.map((part) => (part.includes("=>") ? `(${part})` : part)).join(" | ")
    }
    if (type.isIntersection()) {
      const parts = type.types.flatMap((part) => this.#print(part, at) ?? [])
      return parts.length === 0 ? undefined : parts.join(" & ")
    }
    if (type.flags & TypeFlags.Object) return this.#printObject(type as ts.ObjectType, at)
    throw new Error(
      `The type ${this.#checker.typeToString(type)} has a form that is not known, in ${this.#expanding.map((t) => this.#checker.typeToString(t)).join(" / ")} at ${at.getSourceFile().fileName} ${at.getText().slice(0, 200)}`
    )
  }

  #printObject(type: ts.ObjectType, at: ts.Node): string | undefined {
    if (this.#checker.isTupleType(type)) {
      const { elementFlags, readonly } = (type as ts.TypeReference).target as ts.TupleType
      const parts = this.#checker.getTypeArguments(type as ts.TypeReference).map((element, index) => {
        const text = this.#print(element, at) ?? "unknown"
        const flags = elementFlags[index] ?? ts.ElementFlags.Required
        if (flags & ts.ElementFlags.Rest) return `...${text}[]`
        if (flags & ts.ElementFlags.Variadic) return `...${text}`
        return flags & ts.ElementFlags.Optional ? `(${text})?` : text
      })
      return `${readonly ? "readonly " : ""}[${parts.join(", ")}]`
    }
    const symbol = type.getSymbol()
    const [declaration] = symbol?.declarations ?? []
    if (type.objectFlags & ts.ObjectFlags.Reference || type.isClassOrInterface()) {
      if (symbol === undefined || declaration === undefined) return undefined
      const isForeign = !this.#isOurs(declaration) && !this.#isEffect(declaration)
      const isService = ts.isClassDeclaration(declaration) && this.#isService(symbol, declaration)
      const name = isService ? undefined : isForeign ? symbol.name : this.#refer(symbol)
      if (name === undefined) return undefined
      const typeArguments = this.#checker.getTypeArguments(type as ts.TypeReference)
      const count = (type as ts.TypeReference).target?.typeParameters?.length ?? 0
      const printed = typeArguments.slice(0, count).map((argument) => this.#print(argument, at))
      if (printed.includes(undefined) && isForeign) return undefined
      return printed.length === 0 ? name : `${name}<${printed.map((text) => text ?? "unknown").join(", ")}>`
    }
    if (this.#expanding.includes(type)) throw new Error(`The type ${this.#checker.typeToString(type)} contains itself`)
    this.#expanding.push(type)
    try {
      const [signature] = type.getCallSignatures()
      if (signature !== undefined) return this.#printFunction(signature, at)
      if (type.getConstructSignatures().length > 0) return undefined
      const indexes = this.#checker
        .getIndexInfosOfType(type)
        .map(
          ({ keyType, type, isReadonly }) =>
            `${isReadonly ? "readonly " : ""}[name: ${this.#print(keyType, at)}]: ${this.#print(type, at) ?? "unknown"}`
        )
      const fields = [...indexes, ...type.getProperties().flatMap((field) => this.#field(field, at) ?? [])]
      const text = `{ ${fields.join("; ")} }`
      const broken = text.length > 100 ? `{\n${fields.join("\n")}\n}` : text
      this.#objects.add(broken)
      return fields.length === 0 ? "{}" : broken
    } finally {
      this.#expanding.pop()
    }
  }

  #printFunction(signature: ts.Signature, at: ts.Node): string | undefined {
    const { declaration } = signature
    if (declaration !== undefined && ts.isFunctionTypeNode(declaration)) return this.#signature(declaration, " => ")
    const parameters = signature.getParameters().map((parameter) => {
      const type = this.#print(this.#checker.getTypeOfSymbolAtLocation(parameter, at), at)
      const isOptional = parameter.flags & ts.SymbolFlags.Optional
      return type === undefined ? undefined : `${parameter.name}${isOptional ? "?" : ""}: ${type}`
    })
    const result = this.#print(signature.getReturnType(), at)
    return result === undefined || parameters.includes(undefined)
      ? undefined
      : `(${parameters.join(", ")}) => ${result}`
  }

  #field(field: ts.Symbol, at: ts.Node): string | undefined {
    const isOptional = (field.flags & ts.SymbolFlags.Optional) !== 0
    const type = this.#checker.getTypeOfSymbolAtLocation(field, at)
    const text = this.#print(type, at) ?? (isOptional ? undefined : "unknown")
    if (text === undefined) return undefined
    const name = /^[\w$]+$/.test(field.name) ? field.name : JSON.stringify(field.name)
    // Every field of a schema is read-only.
    return `readonly ${name}${isOptional ? "?" : ""}: ${text}`
  }
}
