"""The rules of RULES.md, a test for each sentence and each reading that a field offers.

A test is called after its section: ``test_r05_...`` is about R5 and stands in the file that has ``r05`` in its name,
or lies between its numbers. The kinds of abilities are in ``test_abilities.py``. Where a field has other readings than
the classic one, the name goes on with the reading: ``test_r16_next_pays_...``. Each position is played by both engines
(`tests.positions`).

Mistakes of other rule engines, found in public code, and what would catch them here (``test_index.py`` checks this
table):

== ============================================== ===================================================================
1  a reshuffle takes the top card too             test_r12_a_reshuffle_keeps_the_top_card
                                                  test_r12_no_card_is_lost_or_doubled
2  scores of the wrong player                     test_r07_the_lowest_total_wins_whichever_seat_has_it
                                                  test_r11_any_seat_can_end_it
                                                  test_r17_points_of_everybody_left_are_counted
3  a penalty larger than all cards crashes        test_r12_a_draw_stops_short_where_there_are_no_cards
                                                  test_r15_a_penalty_larger_than_all_cards_left_is_over_all_the_same
4  a score by the number of the card              test_r17_points_of_each_card
5  a round cut off is scored as won               test_r07_first_out_nobody_wins_where_nobody_went_out
                                                  test_r13_turn_cap_ends_the_round_where_a_further_turn_would_begin
                                                  test_r13_truncated_rounds_are_counted_apart
6  reverse with two players                       test_ability_reverse_with_two_players_changes_nothing
                                                  test_ability_reverse_with_two_players_as_skip
7  a reverse turns one player too late            test_r05_a_ten_turned_up_reverses_so_the_dealers_right_plays_first
                                                  test_r06_a_reverse_turns_the_order_at_once_and_a_second_one_back
8  a special card turned up as starter            test_r05_each_starter_acts_as_if_the_dealer_had_played_it
                                                  test_r05_the_dealer_names_a_suit_for_an_eight_turned_up
9  who is hit by a starter keeps the turn         test_r05_a_two_turned_up_begins_the_crank_with_the_dealers_left
                                                  test_ability_next_draws_and_loses_the_turn
10 cards put back at the start are lost           test_r05_redraw_chosen_ranks_are_never_turned_up
                                                  test_r12_no_card_is_lost_or_doubled
11 the suit named lasts into the next hand        test_r06_a_round_starts_from_its_own_starter_alone
12 the suit named is written on the card          test_r08_match_goes_by_the_nominated_suit
                                                  test_r08_a_nominated_suit_stays_while_others_draw_and_reshuffle
                                                  test_r08_an_eight_that_comes_back_from_the_discards_is_as_it_was
13 a turn that draws nothing does not pass        test_r09_who_can_neither_play_nor_draw_passes
                                                  test_r13_a_round_is_blocked_when_a_whole_circle_does_nothing
                                                  any combination: tests/test_engines.py
14 a deadlock of stock, limit and penalty         test_r13_turn_cap_ends_a_round_that_goes_round_in_a_circle
                                                  any combination: tests/test_invariants.py
15 a round that never ends                        test_r13_turn_cap_ends_a_round_that_goes_round_in_a_circle
16 a reshuffle brings back cards that are held    test_r12_a_reshuffle_brings_back_the_discards_and_no_card_held
                                                  test_r12_no_card_is_lost_or_doubled
17 penalties added up wrongly                     test_r14_an_ace_adds_one_and_a_two_adds_two
                                                  test_r15_example_of_the_sheet
                                                  test_r15_after_the_penalty_a_two_starts_a_new_crank_and_an_ace_none
18 a card drawn before deciding on the penalty    test_r14_only_aces_and_twos_can_be_played_of_any_suit
                                                  test_r14_who_has_an_ace_or_a_two_must_play_it
                                                  test_r15_whoever_pays_has_had_the_turn
                                                  test_r09_voluntary_is_not_for_cranks
19 a penalty that was paid binds the next too     test_r15_after_the_penalty_the_two_binds_nobody
                                                  test_r15_after_the_penalty_a_two_starts_a_new_crank_and_an_ace_none
20 what becomes of a penalty that cannot be paid  test_r12_a_draw_stops_short_where_there_are_no_cards
                                                  test_r15_a_penalty_larger_than_all_cards_left_is_over_all_the_same
21 going out on an action card: who still draws   test_r11_seven_the_next_player_still_draws
                                                  test_r11_five_all_others_still_draw
                                                  test_r11_last_card_ignored_nothing_acts
22 the last eight asks for a suit                 test_r11_who_goes_out_names_no_suit
23 several draws a turn                           test_r09_who_cannot_play_draws_one_and_the_turn_ends
                                                  test_r09_until_playable_draws_until_able_and_plays
24 a starter dealt twice                          test_r04_each_round_deals_every_card_once_and_one_starter
25 the first player never changes                 test_r03_the_deal_passes_to_the_left_each_round
26 ties dropped, own cards credited               test_r07_a_tie_is_shared
                                                  test_r17_points_of_everybody_left_are_counted
27 a bot plays what it may not                    every play of any rules: tests/test_invariants.py
28 bots that foresee the deal                     test_bots_do_not_change_the_deal
                                                  test_rounds_and_games_are_dealt_anew
                                                  hidden cards: tests/test_bots_blind.py
29 a biased shuffle                               test_r04_every_rank_is_dealt_to_every_seat_equally_often
                                                  every order of cards: tests/test_streams.py
30 going out inside a crank is not noticed        test_r14_an_ace_outside_a_crank_is_an_ordinary_card
                                                  test_r16_who_goes_out_with_a_two_leaves_the_crank_to_the_others
                                                  test_r16_who_goes_out_with_an_ace_inside_a_crank_does_not_lose_it
                                                  test_ability_next_draws_and_takes_a_normal_turn
31 when the call for a last card counts           test_r10_nobody_is_caught_who_announces_or_whom_nobody_calls
                                                  test_r10_forgetting_and_calling_are_chances
                                                  Craits has no moment to call in: forgetting is a chance (R10)
32 whether every game ends                        test_r13_turn_cap_ends_a_round_that_goes_round_in_a_circle
                                                  not proved: some rounds go in a circle, and the cap cuts them
== ============================================== ===================================================================
"""
