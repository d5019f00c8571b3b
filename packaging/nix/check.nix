# nix-instantiate --eval --strict packaging/nix/check.nix
# Evaluates the expression with the names of nixpkgs that it uses, for machines without nixpkgs.
let
  pkgs = {
    rustPlatform.buildRustPackage = arguments: arguments;
    lib = {
      cleanSource = path: path;
      licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
    };
  };
  package = import ./default.nix { inherit pkgs; };
  exists = builtins.pathExists;
in
assert package.pname == "culd" && builtins.match "[0-9]+\\.[0-9]+\\.[0-9]+" package.version != null;
assert exists package.cargoLock.lockFile && exists (package.src + "/crates/culd/Cargo.toml");
assert package.meta.license == [ "MIT" "Apache-2.0" ];
"culd ${package.version}"
