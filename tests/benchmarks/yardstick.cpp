// Classic Craits (RULES.md) with random bots, as one writes it in C++ for speed: one game at a time, hands as sets of
// bits, branches. It shares nothing with craits_sim, not even the random numbers: its statistics must agree with those of
// the kernel within their standard errors, and its time a turn is what the kernel is compared with.
//
//     g++ -O3 -march=native -std=c++17 yardstick.cpp -o yardstick
//     ./yardstick PLAYERS GAMES [SEED]
//
// prints one JSON object; every mean is a pair [mean, standard error], games being the unit.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>
#ifdef __BMI2__
#include <immintrin.h>
#endif

namespace {

using Cards = std::uint64_t;  // one bit a card; a card is 16 * suit + rank, suits C D H S, ranks A 2 ... K from 0

constexpr int kMostPlayers = 5;
constexpr std::array<int, 15> kDeals = {8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::array<int, 13> kPoints = {1, 20, 0, 15, 30, 30, 20, 50, 30, 25, 10, 10, 10};
constexpr std::array<int, 12> kDearestFirst = {7, 4, 5, 8, 9, 1, 6, 3, 10, 11, 12, 0};  // ranks but the 3
constexpr int kAce = 0, kTwo = 1, kThree = 2, kFour = 3, kFive = 4, kSix = 5, kSeven = 6, kEight = 7, kNine = 8, kTen = 9;

constexpr Cards of_rank(int rank) { return Cards{0x0001000100010001} << rank; }
constexpr Cards of_suit(int suit) { return Cards{0x1FFF} << (16 * suit); }
constexpr Cards kCrankCards = of_rank(kAce) | of_rank(kTwo);
constexpr Cards kDeck = of_suit(0) | of_suit(1) | of_suit(2) | of_suit(3);

int count(Cards cards) { return __builtin_popcountll(cards); }
int lowest(Cards cards) { return __builtin_ctzll(cards); }

int kth(Cards cards, int k) {
#ifdef __BMI2__
    return lowest(_pdep_u64(Cards{1} << k, cards));
#else
    while (k-- > 0) cards &= cards - 1;
    return lowest(cards);
#endif
}

class Random {  // SplitMix64 (Steele, Lea, Flood 2014)
  public:
    explicit Random(std::uint64_t seed) : state_(scramble(seed)) {}
    int below(int n) { return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(n)) >> 32); }

  private:
    static std::uint64_t scramble(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }
    std::uint64_t next() { return scramble(state_ += 0x9E3779B97F4A7C15); }
    std::uint64_t state_;
};

struct Counts {
    long turns = 0, drawn = 0, crank_drawn = 0, reshuffles = 0, cranks = 0;
};

class Round {
  public:
    Round(int players, Random& random, Counts& counts) : players_(players), random_(random), counts_(counts) {}

    // Plays a round and gives the seat that went out, or -1 if it was blocked.
    int play(int dealer, int hand_size) {
        for (Cards left = kDeck; left; left &= left - 1) stock_[stock_size_++] = lowest(left);
        for (int i = 0; i < hand_size; ++i)
            for (int seat = 0; seat < players_; ++seat) hands_[seat] |= Cards{1} << take();
        top_ = take();
        suit_ = top_ >> 4;
        int player = act(dealer, false);
        int idle_turns = 0;
        while (idle_turns < players_) {
            ++counts_.turns;
            const Cards playable = hands_[player] & (crank_ ? kCrankCards : may_follow());
            if (playable) {
                idle_turns = 0;
                put_down(player, playable);
                const bool goes_out = !hands_[player];
                const int next = act(player, goes_out);
                if (goes_out) {
                    if (crank_) play_crank_out(player);
                    return player;
                }
                player = next;
                continue;
            }
            const int got = draw(player, crank_ ? crank_ : 1);
            if (crank_) counts_.crank_drawn += got;
            crank_ = 0;
            idle_turns = got ? 0 : idle_turns + 1;
            player = after(player);
        }
        return -1;
    }

    int points(int seat) const {
        const int threes = count(hands_[seat] & of_rank(kThree));
        const Cards others = hands_[seat] & ~of_rank(kThree);
        int uncanceled = threes, sum = 0;
        for (int rank : kDearestFirst) {
            const int held = count(others & of_rank(rank)), canceled = std::min(held, uncanceled);
            uncanceled -= canceled;
            sum += (held - canceled) * kPoints[rank];
        }
        return sum - 50 * uncanceled;
    }

  private:
    int after(int seat) const {
        seat += direction_;
        return seat == players_ ? 0 : seat < 0 ? players_ - 1 : seat;
    }

    Cards may_follow() const { return of_suit(suit_) | of_rank(top_ & 15) | of_rank(kEight); }

    // Takes a random card of the stock; -1 if there is none, under the top card neither.
    int take() {
        if (!stock_size_) {
            if (!discards_) return -1;
            ++counts_.reshuffles;
            for (; discards_; discards_ &= discards_ - 1) stock_[stock_size_++] = lowest(discards_);
        }
        const int place = random_.below(stock_size_), card = stock_[place];
        stock_[place] = stock_[--stock_size_];
        return card;
    }

    int draw(int seat, int cards) {
        int got = 0;
        for (; got < cards; ++got) {
            const int card = take();
            if (card < 0) break;
            hands_[seat] |= Cards{1} << card;
        }
        counts_.drawn += got;
        return got;
    }

    void put_down(int seat, Cards playable) {
        discards_ |= Cards{1} << top_;
        top_ = kth(playable, random_.below(count(playable)));
        hands_[seat] ^= Cards{1} << top_;
        suit_ = top_ >> 4;
    }

    // Lets the top card, played by a seat, have its effect, and gives the seat to act next.
    int act(int seat, bool goes_out) {
        const int rank = top_ & 15;
        if (crank_) {
            crank_ += rank == kAce ? 1 : 2;
            return after(seat);
        }
        switch (rank) {
            case kTwo:
                crank_ = 2;
                ++counts_.cranks;
                break;
            case kFour:
                return after(after(seat));
            case kFive:
                for (int other = after(seat); other != seat; other = after(other)) draw(other, 1);
                break;
            case kSix:
                return seat;
            case kSeven:
                draw(after(seat), 1);
                break;
            case kEight:
                if (!goes_out) suit_ = random_.below(4);
                break;
            case kNine:
                if (!goes_out && random_.below(2)) suit_ = 3 - suit_;
                break;
            case kTen:
                direction_ = -direction_;
                break;
        }
        return after(seat);
    }

    void play_crank_out(int last_to_add) {
        int seat = after(last_to_add);
        while (seat != last_to_add) {
            if (hands_[seat]) {
                ++counts_.turns;
                const Cards playable = hands_[seat] & kCrankCards;
                if (!playable) {
                    counts_.crank_drawn += draw(seat, crank_);
                    return;
                }
                put_down(seat, playable);
                crank_ += (top_ & 15) == kAce ? 1 : 2;
                last_to_add = seat;
            }
            seat = after(seat);
        }
    }

    const int players_;
    Random& random_;
    Counts& counts_;
    std::array<Cards, kMostPlayers> hands_{};
    std::array<int, 52> stock_;
    int stock_size_ = 0;
    Cards discards_ = 0;
    int top_ = 0, suit_ = 0, direction_ = 1, crank_ = 0;
};

struct Mean {  // of one quantity a game
    double sum = 0, squares = 0;
    void add(double value) {
        sum += value;
        squares += value * value;
    }
    double deviation(double games) const {
        return std::sqrt(std::max(0.0, squares - sum * sum / games) / (games - 1));
    }
    void print(const char* separator, double games, double unit = 1) const {
        std::printf("%s[%.6g, %.3g]", separator, sum / games / unit, deviation(games) / std::sqrt(games) / unit);
    }
};

void print_list(const char* name, const std::vector<Mean>& means, double games, double unit = 1) {
    std::printf(",\n \"%s\": ", name);
    for (std::size_t i = 0; i < means.size(); ++i) means[i].print(i ? ", " : "[", games, unit);
    std::printf("]");
}

}  // namespace

int main(int argc, char** argv) {
    const int players = argc > 1 ? std::atoi(argv[1]) : 0;
    const long games_wanted = argc > 2 ? std::atol(argv[2]) : 0;
    const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    if (players < 2 || players > kMostPlayers || games_wanted < 2) {
        std::fprintf(stderr, "usage: yardstick PLAYERS(2-5) GAMES(2-) [SEED]\n");
        return 2;
    }
    constexpr int rounds = kDeals.size();
    Mean turns, drawn, crank_drawn, reshuffles, cranks, blocked;
    std::vector<Mean> wins(players), totals(players), went_out(players), points(players), round_turns(rounds);
    long all_turns = 0;
    const std::clock_t started = std::clock();
    for (long game = 0; game < games_wanted; ++game) {
        Random random(seed * 0x9E3779B97F4A7C15 + static_cast<std::uint64_t>(game));
        Counts counts;
        std::array<int, kMostPlayers> total{}, outs{}, by_offset{};
        int blocked_rounds = 0;
        for (int number = 0; number < rounds; ++number) {
            const long turns_before = counts.turns;
            const int dealer = number % players;  // seats are positions: 0 is the first dealer
            Round round(players, random, counts);
            const int winner = round.play(dealer, kDeals[number]);
            for (int seat = 0; seat < players; ++seat) {
                const int offset = (seat - dealer + players) % players, score = seat == winner ? 0 : round.points(seat);
                total[seat] += score;
                by_offset[offset] += score;
                outs[offset] += seat == winner;
            }
            blocked_rounds += winner < 0;
            round_turns[number].add(static_cast<double>(counts.turns - turns_before));
        }
        const int best = *std::min_element(total.begin(), total.begin() + players);
        const auto winners = std::count(total.begin(), total.begin() + players, best);
        for (int seat = 0; seat < players; ++seat) {
            wins[seat].add(total[seat] == best ? 1.0 / static_cast<double>(winners) : 0);
            totals[seat].add(total[seat]);
            went_out[seat].add(outs[seat]);
            points[seat].add(by_offset[seat]);
        }
        turns.add(static_cast<double>(counts.turns));
        drawn.add(static_cast<double>(counts.drawn));
        crank_drawn.add(static_cast<double>(counts.crank_drawn));
        reshuffles.add(static_cast<double>(counts.reshuffles));
        cranks.add(static_cast<double>(counts.cranks));
        blocked.add(blocked_rounds);
        all_turns += counts.turns;
    }
    const double games = static_cast<double>(games_wanted);
    const double seconds = static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC;
    std::printf("{\"players\": %d, \"games\": %ld, \"seed\": %llu, \"cpu_s\": %.3f, \"ns_per_turn\": %.2f", players, games_wanted,
                static_cast<unsigned long long>(seed), seconds, 1e9 * seconds / static_cast<double>(all_turns));
    std::printf(",\n \"per_round\": {");
    turns.print("\"turns\": ", games, rounds);
    drawn.print(", \"cards_drawn\": ", games, rounds);
    reshuffles.print(", \"reshuffles\": ", games, rounds);
    blocked.print(", \"blocked\": ", games, rounds);
    cranks.print(", \"cranks\": ", games, rounds);
    crank_drawn.print(", \"crank_cards_drawn\": ", games, rounds);
    std::printf("}");
    print_list("win_share", wins, games);
    print_list("mean_total", totals, games);
    std::printf(",\n \"sd_total\": ");
    for (int seat = 0; seat < players; ++seat) std::printf("%s%.5g", seat ? ", " : "[", totals[seat].deviation(games));
    std::printf("]");
    print_list("go_out_share", went_out, games, rounds);
    print_list("mean_points", points, games, rounds);
    print_list("turns_by_round", round_turns, games);
    std::printf("}\n");
}
